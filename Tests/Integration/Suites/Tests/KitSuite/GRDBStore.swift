import FailureArtifactsTestKit
import GRDB

/// A GRDB queue as a store of the test kit: a complete conformance.
final class GRDBStore: TestStore {
    let queue: DatabaseQueue

    init(at location: StoreLocation) throws {
        var configuration = Configuration()
        var path = location.path
        if location == .devNull {
            configuration.prepareDatabase { try $0.execute(sql: StoreLocation.setupAtDevNull) }
            // Several stores at once would lock each other out. GRDB doesn't request URIs, so SQLite's build
            // options (SQLITE_USE_URI) decide if this is one.
            path = "file:/dev/null?nolock=1"
        }
        queue = try DatabaseQueue(path: path, configuration: configuration)
    }

    func close() throws {
        try queue.close()
    }

    func withConnection<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        try queue.inDatabase { db in
            guard let connection = db.sqliteConnection else {
                throw DatabaseError(resultCode: .SQLITE_MISUSE)
            }
            return try body(connection)
        }
    }
}

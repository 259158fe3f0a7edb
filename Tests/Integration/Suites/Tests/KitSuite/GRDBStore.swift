import FailureArtifactsTestKit
import GRDB

/// A queue of GRDB as a store of the test kit: all that it takes.
final class GRDBStore: TestStore {
    let queue: DatabaseQueue

    init(at location: StoreLocation) throws {
        var configuration = Configuration()
        if location == .devNull {
            configuration.prepareDatabase { try $0.execute(sql: StoreLocation.setupAtDevNull) }
        }
        queue = try DatabaseQueue(path: location.path, configuration: configuration)
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

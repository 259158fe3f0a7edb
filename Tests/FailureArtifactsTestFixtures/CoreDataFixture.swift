internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import Foundation
internal import Testing

private let maker = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "store.py").path
/// The stores that were made, by the arguments.
private let stores = Lock<[[String]: [UInt8]]>([:])

extension Fixture {
    /// Creates a store in Core Data's layout and returns its path.
    package func coreDataStore(
        after: Bool = false, history: Bool = false, sql: String = ""
    ) throws -> String {
        let path = path(after ? "after.sqlite" : "before.sqlite")
        let arguments = (history ? ["history"] : []) + (after ? ["after"] : [])
        if let made = stores.withLock({ $0[arguments] }) {
            try FileSystem.write(made, toNewFile: path)
        } else {
            let maker = try Program.run("/usr/bin/env", ["python3", "-B", maker, path] + arguments)
            try #require(maker.status == 0, "\(maker.error)")
            let made = try FileSystem.contents(ofFile: path)
            stores.withLock { $0[arguments] = made }
        }
        if !sql.isEmpty { try Connection(path: path, mode: .readWrite).execute(sql) }
        return path
    }
}

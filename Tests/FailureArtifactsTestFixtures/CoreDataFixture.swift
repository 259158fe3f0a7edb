internal import FailureArtifactsSQLite
internal import Foundation
internal import Testing

private let maker = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "store.py").path

extension Fixture {
    /// Creates a store in Core Data's layout and returns its path.
    package func coreDataStore(
        after: Bool = false, history: Bool = false, sql: String = ""
    ) throws -> String {
        let path = path(after ? "after.sqlite" : "before.sqlite")
        let arguments = (history ? ["history"] : []) + (after ? ["after"] : [])
        let made = try Program.run("/usr/bin/env", ["python3", "-B", maker, path] + arguments)
        try #require(made.status == 0, "\(made.error)")
        if !sql.isEmpty { try Connection(path: path, mode: .readWrite).execute(sql) }
        return path
    }
}

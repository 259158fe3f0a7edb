internal import FailureArtifactsSQLite
internal import Foundation
internal import Testing

private let directory = URL(filePath: #filePath).deletingLastPathComponent()
private let maker = directory.appending(path: "store.py").path
private let makerWithModel = directory.appending(path: "model_store.py").path

extension Fixture {
    /// Creates a store in Core Data's layout and returns its path.
    package func coreDataStore(
        after: Bool = false, history: Bool = false, sql: String = ""
    ) throws -> String {
        let path = path(after ? "after.sqlite" : "before.sqlite")
        let made = try Program.run(
            "/usr/bin/env",
            ["python3", "-B", maker, path] + (history ? ["history"] : []) + (after ? ["after"] : [])
        )
        try #require(made.status == 0, "\(made.error)")
        if !sql.isEmpty { try Connection(path: path, mode: .readWrite).execute(sql) }
        return path
    }
    /// Creates a store with the model that Core Data keeps in a store, and returns its path.
    package func modelStore(after: Bool = false, sql: String = "") throws -> String {
        let path = path(after ? "model-after.sqlite" : "model-before.sqlite")
        let made = try Program.run(
            "/usr/bin/env", ["python3", "-B", makerWithModel, path] + (after ? ["after"] : []))
        try #require(made.status == 0, "\(made.error)")
        if !sql.isEmpty { try Connection(path: path, mode: .readWrite).execute(sql) }
        return path
    }
}

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
        try store(
            at: path(after ? "after.sqlite" : "before.sqlite"), by: maker,
            (history ? ["history"] : []) + (after ? ["after"] : []), sql: sql)
    }

    /// Creates a store with the model that Core Data keeps in a store, and returns its path.
    ///
    /// With `namesakes`, the entity Tag has attributes `label` and `Label`.
    package func modelStore(
        after: Bool = false, namesakes: Bool = false, sql: String = ""
    ) throws -> String {
        try store(
            at: path(after ? "model-after.sqlite" : "model-before.sqlite"), by: makerWithModel,
            (after ? ["after"] : []) + (namesakes ? ["namesakes"] : []), sql: sql)
    }

    private func store(
        at path: String, by maker: String, _ arguments: [String], sql: String
    ) throws -> String {
        let made = try Program.run("/usr/bin/env", ["python3", "-B", maker, path] + arguments)
        try #require(made.status == 0, "\(made.error)")
        if !sql.isEmpty { try Connection(path: path, mode: .readWrite).execute(sql) }
        return path
    }
}

internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import Foundation

extension IsolatedStores {
    /// Calls a closure with two stores as files to compare.
    func withFiles<Result>(
        _ a: (name: String, store: Store), _ b: (name: String, store: Store),
        _ body: (StoreComparison.Side, StoreComparison.Side) throws -> Result
    ) throws -> Result {
        let scratch = try FileSystem.createUniqueDirectory(in: path, prefix: "compared-")
        defer { try? FileSystem.remove(scratch) }
        return try body(
            side(of: a.store, named: a.name, scratch: scratch, file: "a.sqlite"),
            side(of: b.store, named: b.name, scratch: scratch, file: "b.sqlite"))
    }

    private func side(
        of store: Store, named name: String, scratch: String, file: String
    ) throws -> StoreComparison.Side {
        if case .file(let url) = location(of: name) {
            return StoreComparison.Side(path: url.path(percentEncoded: false), isPrivate: false)
        }
        let copy = Path.join(scratch, file)
        try store.copy(to: copy)
        return StoreComparison.Side(path: copy, isPrivate: true)
    }

    /// Copies the committed content of a store to a new file.
    func copy(_ store: Store, named name: String, to target: String) throws {
        if case .file(let url) = location(of: name) {
            try DatabaseCopy.copy(file: url.path(percentEncoded: false), toNewFile: target)
        } else {
            try store.copy(to: target)
        }
    }
}

extension TestStore {
    /// Copies the content that the store's connection sees to a new file.
    func copy(to file: String) throws {
        try withConnection { try DatabaseCopy.copy(connection: $0, toNewFile: file) }
    }
}

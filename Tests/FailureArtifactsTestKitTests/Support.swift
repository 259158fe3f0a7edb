import FailureArtifactsSystem
import FailureArtifactsTestKit
import Foundation
import Testing

struct Rotten: Error, CustomStringConvertible {
    var description: String { "the fruit is rotten" }
}

/// A store that cannot lend its connection, and whose `close` fails on demand.
final class OpaqueStore: TestStore {
    private let store: SQLiteTestStore

    init(at location: StoreLocation) throws { store = try SQLiteTestStore(at: location) }

    func close() throws {
        store.close()
        throw Rotten()
    }
}

let fruits = StoreContent<SQLiteTestStore>.script(
    "CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('apple')")

/// Calls a closure with a new directory, which is removed afterwards.
func withTemporaryDirectory<Result>(_ body: (URL) throws -> Result) throws -> Result {
    let path = try FileSystem.createUniqueDirectory(
        in: FileManager.default.temporaryDirectory.path, prefix: "kit tests ")
    defer { try? FileSystem.remove(path) }
    return try body(URL(filePath: path, directoryHint: .isDirectory))
}

/// Checks that a closure throws a ``TestStoreError`` with this reason and a message that contains a text.
@discardableResult
func expectError(
    _ reason: TestStoreError.Reason, _ text: String = "",
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) -> TestStoreError? {
    let error = #expect(throws: TestStoreError.self, sourceLocation: sourceLocation) { try body() }
    #expect(error?.reason == reason, sourceLocation: sourceLocation)
    if let error, !text.isEmpty {
        #expect(error.description.contains(text), sourceLocation: sourceLocation)
    }
    return error
}

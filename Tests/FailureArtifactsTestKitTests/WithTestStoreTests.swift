import FailureArtifactsSystem
import FailureArtifactsTestKit
import Foundation
import Testing

@Suite struct WithTestStoreTests {
    /// The file of a store, as SQLite knows it.
    private func databaseFile(of store: SQLiteTestStore) throws -> URL {
        guard case .text(let path) = try store.value("SELECT file FROM pragma_database_list") else {
            throw Rotten()
        }
        return URL(filePath: path)
    }

    private func exists(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }

    @Test func storeIsClosedAndRemoved() throws {
        let (store, file) = try withTestStore(SQLiteTestStore.self, fruits, named: "果物/1") { store in
            let file = try databaseFile(of: store)
            #expect(exists(file))
            return (store, file)
        }
        #expect(throws: TestStoreError.self) { try store.execute("SELECT 1") }
        #expect(!exists(file) && !exists(file.deletingLastPathComponent()))
        #expect(file.lastPathComponent == "果物_1.sqlite")
    }

    @Test func asynchronousTestHasAStore() async throws {
        let file = try await withTestStore(SQLiteTestStore.self, fruits) { store in
            await Task.yield()
            #expect(try store.value("SELECT name FROM fruit") == "apple")
            return try databaseFile(of: store)
        }
        #expect(!exists(file.deletingLastPathComponent()))
    }

    @Test func errorOfTheTestIsPassedOnAndTheStoreRemoved() async throws {
        nonisolated(unsafe) var files: [URL] = []
        #expect(throws: Rotten.self) {
            try withTestStore(SQLiteTestStore.self) { store in
                files.append(try databaseFile(of: store))
                throw Rotten()
            }
        }
        await #expect(throws: Rotten.self) {
            try await withTestStore(SQLiteTestStore.self) { store in
                files.append(try databaseFile(of: store))
                await Task.yield()
                throw Rotten()
            }
        }
        #expect(files.count == 2)
        for file in files { #expect(!exists(file.deletingLastPathComponent())) }
    }

    @Test func storeThatCannotBeClosedIsAnError() {
        expectError(.cannotStart, "A store of the test could not be closed: the fruit is rotten.") {
            try withTestStore(OpaqueStore.self) { _ in }
        }
    }

    @Test func scriptNeedsAConnection() {
        expectError(.cannotStart, "OpaqueStore cannot lend its connection") {
            try withTestStore(OpaqueStore.self, .script("SELECT 1")) { _ in }
        }
    }

    @Test(arguments: StorePlacement.allCases) func placementIsChosenByTheCaller(
        _ placement: StorePlacement
    ) throws {
        try withTestStore(SQLiteTestStore.self, fruits, placement: placement) { (store) throws in
            #expect(try store.value("SELECT count(*) FROM fruit") == 1)
        }
    }

    @Test func directoryNamesAreSafe() {
        #expect(SafeFileName.make(from: "a/b:c") == "a_b_c")
        #expect(SafeFileName.make(from: String(repeating: "果", count: 99)).utf8.count <= 100)
        #expect(SafeFileName.ofCurrentTest == "test")
    }
}

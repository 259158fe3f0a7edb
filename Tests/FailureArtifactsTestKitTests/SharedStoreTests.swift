import FailureArtifactsTestKit
import Testing

@Suite struct SharedStoreTests {
    private let shared = SharedStore(
        StoreContent<SQLiteTestStore>.script(
            "CREATE TABLE line (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)"), named: "lines")

    private func expectLeak(
        _ text: String, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: @Sendable (SQLiteTestStore) throws -> Void
    ) async {
        let error = await #expect(throws: TestStoreError.self, sourceLocation: sourceLocation) {
            try await shared.use { try body($0) }
        }
        #expect(error?.reason == .leak, sourceLocation: sourceLocation)
        #expect(
            error?.description == "A test left the shared store 'lines' changed: \(text).",
            sourceLocation: sourceLocation)
    }

    private func expectEmpty(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await shared.use { (store) throws in
            for query in ["SELECT count(*) FROM line", "SELECT count(*) FROM sqlite_sequence"] {
                #expect(try store.value(query) == 0, sourceLocation: sourceLocation)
            }
        }
    }

    @Test func testsThatLeaveNothingShareOneStore() async throws {
        let first = try await shared.use { store in
            try store.execute("INSERT INTO line (name) VALUES ('Chuo')")
            try store.deleteAllRows()
            return store
        }
        let second = try await shared.use(\.self)
        #expect(first === second)
    }

    @Test func changesAreErrorsAndDoNotSpread() async throws {
        await expectLeak("line: 1 row inserted, sqlite_sequence: 1 row inserted") {
            try $0.execute("INSERT INTO line (name) VALUES ('Chuo')")
        }
        try await expectEmpty()
        await expectLeak("table more added") { try $0.execute("CREATE TABLE more (a)") }
        try await expectEmpty()
        await expectLeak("a transaction is open") { try $0.execute("BEGIN") }
        try await expectEmpty()
    }

    @Test func storeIsRestoredAfterAnError() async throws {
        await #expect(throws: Rotten.self) {
            try await shared.use { store in
                try store.execute("INSERT INTO line (name) VALUES ('Chuo')")
                throw Rotten()
            }
        }
        try await expectEmpty()
    }

    @Test func testsWaitForEachOther() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    try await shared.use { store in
                        #expect(try store.value("SELECT count(*) FROM line") == 0)
                        try store.execute("INSERT INTO line (name) VALUES ('Chuo')")
                        await Task.yield()
                        #expect(try store.value("SELECT count(*) FROM line") == 1)
                        try store.deleteAllRows()
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func contentThatCannotBePutInPlaceIsAnError() async {
        let broken = SharedStore(StoreContent<SQLiteTestStore>.script("CREATE TABEL"), named: "broken")
        for _ in 0..<2 {
            let error = await #expect(throws: TestStoreError.self) { try await broken.use { _ in } }
            #expect(error?.description.contains("The store 'broken'") == true)
        }
    }
}

import FailureArtifactsTestKit
import FailureArtifactsTestSupport
import FailureArtifactsTesting
import Foundation
import Testing
import XCTest

/// Its tests pass, also without capture: each has a store of its own.
final class StoreTestCaseExample: StoreTestCase<SQLiteTestStore> {
    override var content: StoreContent<SQLiteTestStore> { .script("CREATE TABLE fruit (name TEXT)") }

    override func setUp() async throws { try store.execute("INSERT INTO fruit VALUES ('setUp')") }

    override func tearDown() async throws {
        try store.execute("INSERT INTO fruit VALUES ('tearDown')")
        XCTAssertEqual(try store.value("SELECT count(*) FROM fruit"), 3)
        XCTAssertTrue(FileManager.default.fileExists(atPath: directory.path))
    }

    func testA() throws { try store.execute("INSERT INTO fruit VALUES ('test')") }

    func testB() async throws { try store.execute("INSERT INTO fruit VALUES ('test')") }
}

/// Its tests pass, also without capture: they share a store.
final class SharedStoreTestCaseExample: SharedStoreTestCase<SQLiteTestStore> {
    static let lines = SharedStore(
        StoreContent<SQLiteTestStore>.script("CREATE TABLE line (name TEXT)"), named: "lines")

    override class var sharedStore: SharedStore<SQLiteTestStore> { lines }

    override func tearDownWithError() throws { try store.deleteAllRows() }

    private func useStore() throws {
        XCTAssertEqual(try store.value("SELECT count(*) FROM line"), 0)
        try store.execute("INSERT INTO line VALUES ('Chuo')")
    }

    func testA() throws { try useStore() }

    func testB() throws { try useStore() }
}

/// Fails twice, although it is to stop at its first failure.
final class StoppingTests: StoreTestCase<SQLiteTestStore> {
    override var content: StoreContent<SQLiteTestStore> { fruits }
    override var stopsAtFirstFailure: Bool { true }

    override func invokeTest() {
        if ChildTestRun.isChild { super.invokeTest() }
    }

    override func tearDownWithError() throws {
        print("StoppingTests: tearDown", try store.value("SELECT count(*) FROM fruit"))
    }

    func testFailsTwice() throws {
        XCTFail("first")
        try store.execute("DELETE FROM fruit")
        XCTFail("second")
    }
}

/// Prints what the kit tells XCTest.
final class RecordingTests: StoreTestCase<SQLiteTestStore> {
    override var stopsAtFirstFailure: Bool { name.contains("testStops") }

    /// Reads as true, so that XCTest on Linux doesn't end the process.
    override var continueAfterFailure: Bool {
        get { true }
        set { print("RecordingTests: continueAfterFailure = \(newValue)") }
    }

    override func invokeTest() {
        if ChildTestRun.isChild { super.invokeTest() }
    }

    override func setUp() { print("RecordingTests: setUp") }

    func testContinues() {}

    func testStops() {}
}

/// As above, with a shared store.
final class RecordingSharedTests: SharedStoreTestCase<SQLiteTestStore> {
    static let lines = SharedStore(
        StoreContent<SQLiteTestStore>.script("CREATE TABLE line (name TEXT)"), named: "lines")

    override class var sharedStore: SharedStore<SQLiteTestStore> { lines }
    override var stopsAtFirstFailure: Bool { name.contains("testStops") }

    override var continueAfterFailure: Bool {
        get { true }
        set { print("RecordingSharedTests: continueAfterFailure = \(newValue)") }
    }

    override func invokeTest() {
        if ChildTestRun.isChild { super.invokeTest() }
    }

    override func setUp() { print("RecordingSharedTests: setUp") }

    func testContinues() {}

    func testStops() {}
}

@Suite(.inChildOnly, .failureArtifacts) struct FailingKitFixtures {
    /// Leaves a store with a history of three transactions and an uncommitted change.
    @Test func history() throws {
        try withTestStore(SQLiteTestStore.self, named: "fruits", placement: .onDisk) { store in
            try store.execute("PRAGMA journal_mode = WAL; CREATE TABLE fruit (name TEXT)")
            try store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for name in ["apple", "pear", "plum"] {
                try store.rows("INSERT INTO fruit VALUES (?)", .text(name))
            }
            try store.execute("BEGIN; INSERT INTO fruit VALUES ('fig')")
            Issue.record("with a history")
        }
    }

    @Test func restored() throws {
        let bundle = ProcessInfo.processInfo.environment["KIT_TESTS_BUNDLE"] ?? "no bundle"
        let store = try SQLiteTestStore.restored(from: URL(filePath: bundle), at: .commit(-1))
        try store.execute("DELETE FROM fruit WHERE name = 'apple'")
        Issue.record("with a restored store")
    }
}

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

/// Prints the placement that the environment chose.
final class PlacementTests: XCTestCase {
    func testPlacement() {
        if ChildTestRun.isChild { print("The placement is '\(StorePlacement.standard.rawValue)'.") }
    }
}

final class FailingStoreTests: StoreTestCase<SQLiteTestStore> {
    override var content: StoreContent<SQLiteTestStore> { fruits }
    override var storeName: String { "果物" }

    override func invokeTest() {
        if ChildTestRun.isChild { super.invokeTest() }
    }

    func testFails() throws {
        XCTAssertEqual(try store.value("SELECT name FROM fruit"), "pear")
        try store.execute("DELETE FROM fruit")
    }

    func testThrows() throws { throw Rotten() }
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

final class FailingOpenTests: StoreTestCase<SQLiteTestStore> {
    override var content: StoreContent<SQLiteTestStore> { .script("CREATE TABEL fruit (name)") }

    override func invokeTest() {
        if ChildTestRun.isChild { super.invokeTest() }
    }

    override func setUp() { XCTFail("setUp must not run") }

    func testDoesNotRun() { XCTFail("the test must not run") }
}

final class FailingCloseTests: StoreTestCase<OpaqueStore> {
    override func invokeTest() {
        if ChildTestRun.isChild { super.invokeTest() }
    }

    func testPasses() {}
}

/// Each second test finds the store unchanged, although the test before it failed.
final class LeakingTests: SharedStoreTestCase<SQLiteTestStore> {
    static let lines = SharedStore(
        StoreContent<SQLiteTestStore>.script("CREATE TABLE line (name TEXT)"), named: "lines")

    override class var sharedStore: SharedStore<SQLiteTestStore> { lines }

    override func invokeTest() {
        if ChildTestRun.isChild { super.invokeTest() }
    }

    func testALeavesARow() throws { try store.execute("INSERT INTO line VALUES ('Chuo')") }

    func testBFindsNothing() throws { XCTAssertEqual(try store.value("SELECT count(*) FROM line"), 0) }

    func testCHasFailedAlready() throws {
        try store.execute("INSERT INTO line VALUES ('Chuo')")
        XCTFail("before the leak")
    }

    func testDFindsNothing() throws { XCTAssertEqual(try store.value("SELECT count(*) FROM line"), 0) }
}

@Suite(.inChildOnly, .failureArtifacts) struct FailingKitFixtures {
    @Test func closedStore() throws {
        try withTestStore(SQLiteTestStore.self, fruits, named: "fruits") { _ in }
        Issue.record("the store is closed and removed")
    }

    @Test func thrownError() throws {
        try withTestStore(SQLiteTestStore.self, fruits, named: "fruits") { _ in throw Rotten() }
    }

    @Test func migration() throws {
        let versions = [
            StoreVersion("App V1", fruits),
            StoreVersion("App V2", .script("INSERT INTO fruit VALUES ('pear'), (X'00FF')")),
        ]
        try withMigrations(of: versions) { stores in
            try stores.start(at: "App V1")
            try stores.migrate(to: "App V2")
            throw Rotten()
        }
    }

    @Test func leak() async throws {
        let shared = SharedStore(fruits, named: "shared")
        try await shared.use { try $0.execute("DELETE FROM fruit") }
    }

    @Test func thrownInASharedStore() async throws {
        let shared = SharedStore(fruits, named: "shared")
        try await shared.use { store in
            try store.execute("INSERT INTO fruit VALUES ('pear')")
            throw Rotten()
        }
    }

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

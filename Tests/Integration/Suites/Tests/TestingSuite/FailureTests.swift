import CSuiteSQLite
import FailureArtifacts
import FailureArtifactsTesting
import Foundation
import GRDB
import Testing

struct Rotten: Error, CustomStringConvertible {
    var description: String { "the fruit is rotten" }
}

/// Every way in which a test can fail.
///
/// The comments name the stores' content at the failure time, which is an apple in `fruit` otherwise.
@Suite struct FailureTests {
    @Test func expectation() throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        let total = 3
        #expect(total == 4, "a comment")
        try store.add("pear")
    }

    @Test func requirement() throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        defer { #expect(throws: Never.self) { try store.add("pear") } }
        try #require(Bool(false), "required")
    }

    @Test func nothing() throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        defer { store.close() }
        let number = Int("apple")
        _ = try #require(number)
    }

    @Test func record() throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        Issue.record("by hand")
        try store.add("pear")
    }

    @Test func recordedError() throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        Issue.record(Rotten(), "by hand")
        try store.add("pear")
    }

    /// The store is closed when the error leaves the function.
    @Test func thrownError() throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        defer { store.close() }
        throw Rotten()
    }

    /// In memory: apple, pear, although the transaction is rolled back and the store closed.
    @Test func thrownInATransaction() throws {
        let queue = try DatabaseQueue()
        try queue.plant("apple")
        try queue.write { db in
            try Fruit(name: "pear").insert(db)
            throw Rotten()
        }
    }

    @Test func wrongError() throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        #expect(throws: CocoaError.self) { throw Rotten() }
        try store.add("pear")
    }

    /// The error doesn't mean a cancellation, because the test isn't canceled.
    @Test func cancellationError() throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        defer { store.close() }
        throw CancellationError()
    }

    @Test func miscount() async throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        await confirmation("two", expectedCount: 2) { $0() }
        try store.add("pear")
    }

    /// `fruit`: apple; with every failure also apple, pear and apple, pear, kiwi.
    @Test func severalIssues() throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        Issue.record("first")
        try store.add("pear")
        Issue.record("second")
        try store.add("kiwi")
        Issue.record("third")
    }

    @Test func childTask() async throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        async let child: Void = { Issue.record("in a child task") }()
        await child
        try store.add("pear")
    }

    /// `fruit`: apple; the task of the group has opened `group`: pear.
    @Test func taskGroup() async throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let other = try Connection(try freshPath("group.sqlite"), fruit: "pear")
                Issue.record("in a task group")
                other.close()
            }
            try await group.waitForAll()
        }
        try store.add("kiwi")
    }

    @Test func unstructuredTask() async throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        _ = await Task { Issue.record("in a task of its own") }.value
        try store.add("pear")
    }

    @MainActor @Test func mainActor() async throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        await Task.yield()
        Issue.record("on the main actor")
        try store.add("pear")
    }

    /// `pool`: apple, pear.
    ///
    /// Its readers are opened on threads without a current test.
    @Test func pool() async throws {
        let pool = try DatabasePool(path: try freshPath("pool.sqlite"))
        try pool.plant("apple")
        try await pool.write { try Fruit(name: "pear").insert($0) }
        let count = try await pool.read { try Fruit.fetchCount($0) }
        #expect(count == 0, "a pool")
        try pool.add("kiwi")
    }

    /// `fruit`: apple, pear; committed: apple.
    @Test func insideATransaction() throws {
        let queue = try DatabaseQueue(path: try freshPath("fruit.sqlite"))
        try queue.plant("apple")
        try queue.write { db in
            try Fruit(name: "pear").insert(db)
            Issue.record("inside a transaction")
        }
    }

    /// The child process has its own store `child`, and its own issue.
    @Test func exitTest() async throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        await #expect(processExitsWith: .success) {
            let child = try Connection(try freshPath("child.sqlite"), fruit: "pear")
            Issue.record("in the child")
            child.close()
            exit(3)
        }
        try store.add("kiwi")
    }
}

/// The contents of a bundle besides stores.
@Suite struct CurrentTestTests {
    /// `fruit`: apple, pear; the snapshot `before`: apple; an attachment.
    @Test func everything() async throws {
        let path = try freshPath("fruit.sqlite")
        let store = try Connection(path, fruit: "apple")
        CurrentTest.register(storeAt: URL(fileURLWithPath: path), named: "given")
        CurrentTest.snapshot("before")
        await Task.yield()
        CurrentTest.attach(Data("leek".utf8), named: "vegetable.txt")
        try store.add("pear")
        Issue.record("with everything")
        store.close()
    }

    /// No bundle: the test passes.
    @Test func nothingOfAPassingTest() throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        CurrentTest.snapshot("before")
        store.close()
    }

    /// `fruit`: apple; a snapshot of the second failure.
    @Test func configuration() throws {
        CaptureConfiguration.current.mode = .everyFailure
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        Issue.record("first")
        try store.add("pear")
        Issue.record("second")
    }
}

/// Tests that exceed a limit of one minute.
@Suite(.timeLimit(.minutes(1))) struct TimeLimitTests {
    /// `fruit`: apple.
    @Test func sleepsTooLong() async throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        defer { store.close() }
        try await Task.sleep(for: .seconds(600))
    }

    /// `fruit`: apple; in memory: pear.
    @Test func ignoresItsEnd() async throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        defer { store.close() }
        let queue = try DatabaseQueue()
        try await queue.write { db in
            try db.execute(
                sql: "CREATE TABLE fruit (name TEXT NOT NULL); INSERT INTO fruit VALUES ('pear')")
        }
        while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(50)) }
        #expect(throws: Never.self) { try store.execute("SELECT 1") }
        #expect(try await queue.read { try Fruit.fetchCount($0) } == 1)
    }

    /// No bundle: it cancels itself in time.
    @Test func isCancelled() async throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        defer { store.close() }
        try Test.cancel("in time")
    }
}

/// Errors of SQLite that a test throws.
@Suite(.failureArtifacts) struct ErrorTests {
    /// An error without a description of its own, whose message Swift prints with escaped quotes.
    private struct Failure: Error {
        let code: Int32
        let message: String
    }

    /// Memory: nothing.
    @Test func theErrorIsAStructure() throws {
        var handle: OpaquePointer?
        sqlite3_open(":memory:", &handle)
        defer { sqlite3_close(handle) }
        sqlite3_exec(handle, "CREATE TABLE fruit(name)", nil, nil, nil)
        let code = sqlite3_exec(handle, "SELECT name FORM fruit", nil, nil, nil)
        guard code == SQLITE_OK else {
            throw Failure(code: code, message: String(cString: sqlite3_errmsg(handle)))
        }
    }
}

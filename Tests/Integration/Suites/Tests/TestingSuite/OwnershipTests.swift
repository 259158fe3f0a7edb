import Foundation
import GRDB
import Testing

/// A meeting point for several tasks.
actor Meeting {
    private let size: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(of size: Int) { self.size = size }

    /// Returns when `size` tasks have called it, then starts anew.
    func arrive() async {
        await withCheckedContinuation { continuation in
            waiting.append(continuation)
            guard waiting.count == size else { return }
            for task in waiting { task.resume() }
            waiting = []
        }
    }
}

/// Stores that outlive their tests, and the code that opens them.
enum Shared {
    /// Opened outside of every test, on a thread without a task.
    static let unattributed: DatabasePool = opened(outside: true, "unattributed.sqlite")
    /// Opened by the first test that uses it.
    static let lazily: DatabaseQueue = {
        do {
            let queue = try DatabaseQueue(path: try freshPath("lazily.sqlite"))
            try queue.plant("plum")
            return queue
        } catch {
            fatalError("\(error)")
        }
    }()

    private static func opened(outside: Bool, _ name: String) -> DatabasePool {
        nonisolated(unsafe) var pool: DatabasePool?
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            pool = try? DatabasePool(path: freshPath(name))
            try? pool?.plant("cherry")
            done.signal()
        }
        done.wait()
        guard let pool else { fatalError("There is no shared store.") }
        return pool
    }
}

/// Observes the end of a test, outside of the scopes of its cases.
private struct EndTrait: TestTrait, TestScoping {
    func scopeProvider(for test: Test, testCase: Test.Case?) -> EndTrait? {
        testCase == nil ? self : nil
    }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await function()
        OwnershipTests.leavesHasEnded()
    }
}

/// Tests that run at the same time.
@Suite struct OwnershipTests {
    private static let meeting = Meeting(of: 4)

    /// `first`: apple; both shared stores.
    @Test func first() async throws { try await run("first", fruit: "apple") }
    /// `second`: pear; both shared stores.
    @Test func second() async throws { try await run("second", fruit: "pear") }

    /// Passes, and leaves a store open.
    @Test(EndTrait()) func leaves() async throws {
        let store = try DatabaseQueue(path: try freshPath("left.sqlite"))
        await Self.meeting.arrive()
        try store.plant("leek")
        _ = Unmanaged.passRetained(store)
    }

    /// Signals that ``leaves()`` has ended.
    fileprivate static func leavesHasEnded() {
        Task.detached {
            await meeting.arrive()
            await meeting.arrive()
        }
    }

    /// Passes without using a shared store.
    @Test func third() async throws {
        let store = try Connection(try freshPath("third.sqlite"), fruit: "kiwi")
        let memory = try Connection(":memory:", fruit: "kiwi")
        let queue = try attaching(try freshPath("attached.sqlite"))
        await Self.meeting.arrive()
        await Self.meeting.arrive()
        await Self.meeting.arrive()
        store.close()
        memory.close()
        try queue.close()
    }

    private func attaching(_ path: String) throws -> DatabaseQueue {
        let queue = try DatabaseQueue()
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "ATTACH ? AS attached", arguments: [path])
            try db.execute(sql: "CREATE TABLE attached.fruit (name TEXT NOT NULL)")
        }
        return queue
    }

    private static func count(in queue: DatabaseQueue) throws -> Int {
        try queue.read { try Fruit.fetchCount($0) }
    }

    private func run(_ name: String, fruit: String) async throws {
        _ = Shared.unattributed
        let store = try Connection(try freshPath("\(name).sqlite"), fruit: fruit)
        let lazily = Shared.lazily
        try await Task.sleep(for: .zero)
        #expect(try Self.count(in: lazily) == 1)
        await Self.meeting.arrive()
        await Self.meeting.arrive()
        Issue.record("the \(name) of several")
        await Self.meeting.arrive()
        store.close()
    }
}

/// Tests that share a queue and use it on threads without a task.
@Suite(.serialized) struct QueueTests {
    fileprivate static let meeting = Meeting(of: 2)
    nonisolated(unsafe) private static var queue: DatabaseQueue?
    nonisolated(unsafe) private static var ofNoTest: DatabaseQueue?

    /// Runs a closure on a thread without a task.
    private static func withoutTask(_ body: @escaping @Sendable () throws -> Void) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                try? body()
                continuation.resume()
            }
        }
    }

    /// Passes, and leaves two queues open.
    ///
    /// One of them is opened outside of the test, and used in it.
    @Test func aOpens() async throws {
        Self.queue = try DatabaseQueue(path: try freshPath("queue.sqlite"))
        try Self.queue?.plant("pear")
        await Self.withoutTask {
            Self.ofNoTest = try DatabaseQueue(path: try freshPath("of-no-test.sqlite"))
            try Self.ofNoTest?.plant("plum")
        }
        #expect(try await Self.ofNoTest?.read { try Fruit.fetchCount($0) } == 1)
    }

    /// `queue`: pear, fig.
    @Test func bFails() async throws {
        await Self.meeting.arrive()
        await Self.withoutTask { try Self.queue?.add("fig") }
        await Self.meeting.arrive()
        Issue.record("uses the queue")
    }

    /// `of-no-test`: plum, kiwi.
    @Test func cFails() async {
        await Self.withoutTask { try Self.ofNoTest?.add("kiwi") }
        Issue.record("uses the other queue")
    }
}

/// A test that runs at the same time as ``QueueTests`` and uses no store.
@Suite struct StrangerTests {
    @Test func fails() async {
        await QueueTests.meeting.arrive()
        await QueueTests.meeting.arrive()
        Issue.record("uses nothing")
    }
}

/// 64 simultaneous tests with stores of all kinds.
///
/// Every second one fails.
@Suite struct StressTests {
    private static let count = 64
    private static let meeting = Meeting(of: count)

    @Test(arguments: 0..<count) func crowd(_ number: Int) async throws {
        _ = Shared.unattributed
        // Errors are thrown only after the meeting, so that no test waits forever.
        let fails = number % 2 == 0
        switch number / 2 % 6 {
        case 0:
            let pool = try DatabasePool(path: try freshPath("own.sqlite"))
            try pool.plant("\(number)")
            // This opens a reader on one of the pool's threads.
            let count = try await pool.read { try Fruit.fetchCount($0) }
            try await pool.write { try Fruit(name: "\(number).\(count)").insert($0) }
            try await finish { #expect(!fails, "a pool") }
            try pool.close()
        case 1:
            let queue = try DatabaseQueue()
            try queue.plant("\(number)")
            try await finish {
                // GRDB opens its connections without a mutex, so other threads can't use them.
                try queue.add("\(number).1")
                #expect(!fails, "a queue in memory")
            }
            try queue.close()
        case 2:
            let store = try Connection(":memory:", fruit: "\(number)", "\(number).1")
            try await finish { #expect(!fails, "in memory") }
            store.close()
        case 3:
            let queue = try DatabaseQueue(path: try freshPath("own.sqlite"))
            try queue.plant("\(number)")
            try await finish {
                try queue.write { db in
                    try Fruit(name: "\(number).1").insert(db)
                    #expect(!fails, "in a transaction")
                }
            }
            try queue.close()
        case 4:
            let queue = try DatabaseQueue()
            try queue.plant("\(number)")
            await Self.meeting.arrive()
            // One of the queue's threads has used it last.
            try await queue.write { try Fruit(name: "\(number).1").insert($0) }
            #expect(!fails, "a queue in memory, used asynchronously")
            await Self.meeting.arrive()
            try queue.close()
        default:
            let store = try Connection(try freshPath("own.sqlite"), fruit: "\(number)", "\(number).1")
            try await finish {}
            // The store is closed when the error reaches the trait.
            store.close()
            if fails { throw Rotten() }
        }
    }

    /// Fails or passes while all tests have their stores open.
    private func finish(_ body: @Sendable () throws -> Void) async throws {
        await Self.meeting.arrive()
        try body()
        await Self.meeting.arrive()
    }
}

/// 64 simultaneous tests that end at different times and leave their stores open.
///
/// Every second one fails.
@Suite struct LeavingTests {
    @Test(arguments: 0..<64) func leaves(_ number: Int) async throws {
        let store = try Connection(try freshPath("left.sqlite"), fruit: "\(number)")
        _ = Unmanaged.passRetained(store)
        for _ in 0..<number % 7 { await Task.yield() }
        #expect(number % 2 == 1, "one of many")
    }
}

/// Stores that tests leave open, one after the other in one process.
@Suite(.serialized) struct LeftOpenTests {
    nonisolated(unsafe) private static var kept: [Connection] = []
    nonisolated(unsafe) private static var used: Connection?
    nonisolated(unsafe) private static var queue: DatabaseQueue?

    /// Passes, and leaves a store that no other test uses and two for other tests.
    @Test func leaves() throws {
        Self.kept.append(try Connection(try freshPath("unused.sqlite"), fruit: "apple"))
        Self.used = try Connection(try freshPath("used.sqlite"), fruit: "pear")
        Self.queue = try DatabaseQueue(path: try freshPath("queue.sqlite"))
        try Self.queue?.plant("pear")
    }

    /// `own`: plum; `used` and `queue`: pear, fig.
    @Test func usesThem() throws {
        Self.kept.append(try Connection(try freshPath("own.sqlite"), fruit: "plum"))
        try Self.used?.add("fig")
        try Self.queue?.add("fig")
        Issue.record("uses what another test has left")
    }

    /// `last`: kiwi.
    @Test func usesNothing() throws {
        Self.kept.append(try Connection(try freshPath("last.sqlite"), fruit: "kiwi"))
        Issue.record("uses nothing of other tests")
    }
}

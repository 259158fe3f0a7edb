import CSuiteSQLite
import Foundation
import XCTest

/// More of everything than anybody has.
final class LoadTests: XCTestCase {
    /// 500 stores that are files and 500 in memory, in each: its number.
    func testThousandConnections() throws {
        let directory = try freshPath("")
        let databases = try (0..<1000).map { number in
            let path = number % 2 == 0 ? "\(directory)/store-\(number).sqlite" : ":memory:"
            return try Database(path, journal: "delete", fruit: "\(number)")
        }
        XCTFail("a thousand connections")
        for database in databases { try database.close() }
    }

    /// 64 threads with a store each, `store-0` to `store-63`, that fail at once; in each: its number.
    func testSixtyFourThreads() throws {
        let directory = try freshPath("")
        let ready = Barrier(of: 64)
        onThreads(64) { number in
            do {
                let database = try Database(
                    "\(directory)/store-\(number).sqlite", journal: "wal", fruit: "\(number)")
                ready.wait()
                XCTFail("thread \(number)")
                ready.wait()
                try database.close()
            } catch {
                fatalError("\(error)")
            }
        }
    }
}

/// Runs `LOAD_FAILURES` tests, `test1` and so on, that fail with a store of their own: a file with one row.
final class FailingSuiteTests: XCTestCase {
    func testNothing() {}

    override class func tearDown() {
        do {
            let count = Int(ProcessInfo.processInfo.environment["LOAD_FAILURES"] ?? "") ?? 0
            let path = try freshPath("store.sqlite")
            for number in 0..<count {
                let test = FailingTest(name: "test\(number + 1)") { _ in
                    let database = try Database(path, journal: "delete", fruit: "\(number + 1)")
                    XCTFail("failure \(number + 1)")
                    try database.close()
                    try FileManager.default.removeItem(atPath: path)
                }
                test.run()
            }
        } catch {
            fatalError("\(error)")
        }
    }
}

/// A test that is made while the process runs.
private final class FailingTest: XCTestCase {}

/// Where threads wait for each other; can be used again.
private final class Barrier: @unchecked Sendable {
    private let count: Int
    private let condition = NSCondition()
    private var waiting = 0
    private var generation = 0

    init(of count: Int) { self.count = count }

    func wait() {
        condition.lock()
        defer { condition.unlock() }
        waiting += 1
        guard waiting < count else {
            waiting = 0
            generation += 1
            condition.broadcast()
            return
        }
        let mine = generation
        while generation == mine { condition.wait() }
    }
}

/// Runs `body` with each of the numbers below `count`, on a thread of its own.
private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for number in 0..<count {
        group.enter()
        Thread.detachNewThread {
            body(number)
            group.leave()
        }
    }
    group.wait()
}

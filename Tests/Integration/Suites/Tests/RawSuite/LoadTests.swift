import CSuiteSQLite
import Foundation
import XCTest

/// More stores and threads than real tests have.
final class LoadTests: XCTestCase {
    /// 500 stores in files and 500 in memory; each has its number.
    func testThousandConnections() throws {
        let directory = try freshPath("")
        let databases = try (0..<1000).map { number in
            let path = number % 2 == 0 ? "\(directory)/store-\(number).sqlite" : ":memory:"
            return try Database(path, journal: "delete", fruit: "\(number)")
        }
        XCTFail("a thousand connections")
        for database in databases { try database.close() }
    }

    /// 64 threads that fail at once, with stores `store-0` to `store-63`; each has its number.
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

/// Runs `LOAD_FAILURES` tests, `test1` and so on.
///
/// Each fails with its own store, a file with one row.
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

/// A test created at run time.
final class FailingTest: XCTestCase {}

/// A reusable barrier for threads.
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

/// Runs `body` with each number below `count`, each on its own thread.
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

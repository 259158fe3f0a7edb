import FailureArtifacts
import Foundation
import XCTest

/// A thread that reads a store: on request, or again and again until the process ends.
private final class Reader: @unchecked Sendable {
    private let condition = NSCondition()
    private let isEndless: Bool
    private var isRequested = false
    private var runs = 0
    let path: String

    /// Opens the store; an endless reader has a transaction open, and with it a lock.
    init(_ name: String, endless: Bool) throws {
        isEndless = endless
        path = try freshPath(name)
        let store = try Database(path, journal: "delete", fruit: "pear")
        if endless { try store.execute("BEGIN") }
        Thread.detachNewThread { [self] in
            while true {
                condition.lock()
                while !endless && !isRequested { condition.wait() }
                condition.unlock()
                _ = try? store.integer("SELECT count(*) FROM fruit")
                condition.lock()
                isRequested = false
                runs += 1
                condition.broadcast()
                condition.unlock()
            }
        }
    }

    /// Waits until the thread has run a statement that has started since the call.
    func read() {
        condition.lock()
        let end = runs + (isEndless ? 2 : 1)
        isRequested = true
        condition.broadcast()
        while runs < end { condition.wait() }
        condition.unlock()
    }
}

/// The test that leaves readers, which ``LaterReaderTests`` meets.
final class EndlessReaderTests: XCTestCase {
    nonisolated(unsafe) fileprivate static var endless: Reader?
    nonisolated(unsafe) fileprivate static var pool: Reader?

    /// No bundle.
    func test1LeavesReaders() throws {
        Self.endless = try Reader("endless.sqlite", endless: true)
        Self.pool = try Reader("pool.sqlite", endless: false)
        Self.endless?.read()
    }

    /// No bundle.
    func test2AsksAReader() { Self.pool?.read() }

    /// The endless reader goes on while no test runs.
    override class func tearDown() { endless?.read() }
}

final class LaterReaderTests: XCTestCase {
    private var store: Database?

    /// On a busy machine, the connection that is always in use is rarely free.
    override class func setUp() { CaptureConfiguration.current.timeLimitPerFailure = 120 }

    override func tearDown() { EndlessReaderTests.endless?.read() }

    /// `own`: plum.
    func test1UsesNoReader() throws {
        store = try Database(try freshPath("own.sqlite"), journal: "wal", fruit: "plum")
        EndlessReaderTests.endless?.read()
        XCTFail("uses no reader")
    }

    /// `pool`: pear.
    func test2AsksAReader() throws {
        EndlessReaderTests.endless?.read()
        EndlessReaderTests.pool?.read()
        XCTFail("asks a reader")
    }

    /// `endless`: pear; `own`: plum.
    ///
    /// The last query of the reader has returned the expected number.
    func test3MeetsALock() throws {
        let locked = try Database(try XCTUnwrap(EndlessReaderTests.endless?.path))
        XCTAssertThrowsError(try locked.add("fig"))
        try locked.close()
        let store = try Database(try freshPath("own.sqlite"), journal: "wal", fruit: "plum")
        let count = try store.integer("SELECT count(*) FROM fruit WHERE name = 'fig'")
        self.store = store
        EndlessReaderTests.endless?.read()
        XCTAssertEqual(count, 1)
    }

    /// `endless`: pear.
    func test4OpensTheStore() throws {
        let store = try Database(try XCTUnwrap(EndlessReaderTests.endless?.path))
        let count = try store.integer("SELECT count(*) FROM fruit WHERE name = 'fig'")
        self.store = store
        EndlessReaderTests.endless?.read()
        XCTAssertEqual(count, 1)
    }

    /// `endless`: pear.
    func test5RegistersTheStore() throws {
        let path = try XCTUnwrap(EndlessReaderTests.endless?.path)
        CurrentTest.register(storeAt: URL(fileURLWithPath: path))
        EndlessReaderTests.endless?.read()
        XCTFail("registers the store")
    }
}

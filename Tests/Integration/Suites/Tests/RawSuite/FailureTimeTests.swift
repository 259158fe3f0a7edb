import Foundation
import XCTest

/// Changes after the failure, which are not in the bundle.
final class AfterwardsTests: XCTestCase {
    /// `fruit`: apple.
    ///
    /// All three failures are listed.
    func testSeveralFailures() throws {
        let database = try Database(try freshPath("fruit.sqlite"), journal: "wal", fruit: "apple")
        XCTFail("first")
        try database.add("pear")
        XCTAssertEqual(try database.integer("SELECT count(*) FROM fruit"), 1, "second")
        try database.add("kiwi")
        XCTFail("third")
        try database.close()
    }

    /// `fruit`: apple, pear.
    func testRowsDeletedAfterwards() throws {
        let database = try Database(try freshPath("fruit.sqlite"), journal: "delete", fruit: "apple")
        try database.add("pear")
        XCTFail("deleted afterwards")
        try database.execute("DELETE FROM fruit; VACUUM")
        try database.close()
    }

    /// `fruit`: apple.
    func testRowsWrittenInATeardownBlock() throws {
        let database = try Database(try freshPath("fruit.sqlite"), journal: "wal", fruit: "apple")
        addTeardownBlock {
            XCTAssertNoThrow(try database.add("pear"))
            XCTAssertNoThrow(try database.close())
        }
        XCTFail("written in a teardown block")
    }
}

/// `tearDown` closes the store and deletes its file.
final class DeletingTearDownTests: XCTestCase {
    private var path = ""
    private var database: Database?

    override func setUpWithError() throws {
        path = try freshPath("deleted.sqlite")
        database = try Database(path, journal: "wal", fruit: "apple")
    }

    override func tearDownWithError() throws {
        try database?.execute("DELETE FROM fruit")
        try database?.close()
        let directory = (path as NSString).deletingLastPathComponent
        try FileManager.default.removeItem(atPath: directory)
    }

    /// `deleted`: apple.
    func testFileDeletedInTearDown() {
        XCTFail("deleted in tearDown")
    }
}

/// Errors thrown out of the test's body.
final class ErrorTests: XCTestCase {
    /// `thrown`: apple.
    ///
    /// The connection is open when the error is thrown, and is never closed.
    func testThrownWithTheStoreOpen() throws {
        let database = try Database(try freshPath("thrown.sqlite"), journal: "wal", fruit: "apple")
        try database.execute("INSERT INTO vegetables VALUES ('leek')")
    }

    /// `thrown`: apple.
    ///
    /// The connection is closed when the error leaves the function. The file still exists.
    func testThrownWithTheStoreClosed() throws {
        let database = try Database(try freshPath("thrown.sqlite"), journal: "wal", fruit: "apple")
        defer { XCTAssertNoThrow(try database.close()) }
        try database.execute("INSERT INTO vegetables VALUES ('leek')")
    }
}

/// Failures after the test's body.
final class TeardownBlockTests: XCTestCase {
    /// `block`: apple, pear.
    func testFailureInATeardownBlock() throws {
        let database = try Database(try freshPath("block.sqlite"), journal: "wal", fruit: "apple")
        addTeardownBlock {
            XCTAssertNoThrow(try database.add("pear"))
            XCTFail("in a teardown block")
            XCTAssertNoThrow(try database.add("kiwi"))
            XCTAssertNoThrow(try database.close())
        }
    }
}

/// Failures on other threads than the main one.
final class ThreadTests: XCTestCase {
    /// `async`: apple, pear.
    func testFailureAfterAnAwait() async throws {
        let database = try Database(try freshPath("async.sqlite"), journal: "wal", fruit: "apple")
        try await Task.sleep(nanoseconds: 1_000_000)
        try database.add("pear")
        XCTFail("after an await")
        try database.add("kiwi")
        try database.close()
    }

    /// `async`: apple.
    func testErrorAfterAnAwait() async throws {
        let database = try Database(try freshPath("async.sqlite"), journal: "wal", fruit: "apple")
        try await Task.sleep(nanoseconds: 1_000_000)
        try database.execute("INSERT INTO vegetables VALUES ('leek')")
    }

    /// `thread`: apple.
    ///
    /// Another thread than the failing one has opened the store.
    func testFailureOnAnotherThread() throws {
        let database = try Database(try freshPath("thread.sqlite"), journal: "wal", fruit: "apple")
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            XCTFail("on another thread")
            done.signal()
        }
        done.wait()
        try database.add("pear")
        try database.close()
    }
}

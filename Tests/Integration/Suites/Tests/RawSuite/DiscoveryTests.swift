import CSuiteCallbacks
import CSuiteSQLite
import Foundation
import XCTest

/// Tests without a failure: no bundle, not even a directory.
final class QuietTests: XCTestCase {
    /// No bundle.
    func testPasses() throws {
        let database = try Database(try freshPath("quiet.sqlite"), journal: "wal", fruit: "apple")
        XCTAssertEqual(try database.integer("SELECT count(*) FROM fruit"), 1)
        try database.close()
    }

    /// No bundle.
    func testSkips() throws {
        let database = try Database(try freshPath("quiet.sqlite"), journal: "wal", fruit: "apple")
        defer { XCTAssertNoThrow(try database.close()) }
        throw XCTSkip("nothing to see")
    }

    /// A bundle without a store, because the failure is still worth recording.
    func testFailsWithoutAStore() {
        XCTFail("no store at all")
    }
}

/// A store that the whole suite shares, and stores that live for one test.
final class SharedStoreTests: XCTestCase {
    nonisolated(unsafe) private static var shared: Database?

    /// No bundle.
    ///
    /// Opens the shared store, and a store that it closes.
    func test1OpensAndPasses() throws {
        Self.shared = try Database(try freshPath("shared.sqlite"), journal: "wal", fruit: "apple")
        let other = try Database(try freshPath("earlier.sqlite"), journal: "wal", fruit: "kiwi")
        try other.close()
    }

    /// `shared`: apple, pear; `own`: plum; nothing of `earlier`.
    func test2FailsLater() throws {
        let own = try Database(try freshPath("own.sqlite"), journal: "wal", fruit: "plum")
        try Self.shared?.add("pear")
        XCTFail("shared, second test")
        try own.close()
    }

    /// `shared`: apple, pear, fig; nothing of `own`.
    func test3FailsAgain() throws {
        try Self.shared?.add("fig")
        XCTFail("shared, third test")
    }
}

/// Stores that a test leaves open after deleting their files.
///
/// A trace that replaces the product's prevents saving their states when they are closed.
final class LeftStoreTests: XCTestCase {
    nonisolated(unsafe) private static var untouched: Database?
    nonisolated(unsafe) private static var used: Database?

    /// No bundle.
    func test1LeavesThemOpen() throws {
        Self.untouched = try deletedStore("untouched")
        Self.used = try deletedStore("used")
    }

    /// `own`: plum; the changes to `used`; not `untouched`.
    func test2FailsAfterTheirEnd() throws {
        let own = try Database(try freshPath("own.sqlite"), journal: "delete", fruit: "plum")
        XCTAssertEqual(try Self.used?.integer("SELECT count(*) FROM fruit"), 1)
        for database in [Self.untouched, Self.used] {
            suite_replace_trace(UnsafeMutableRawPointer(database?.handle))
            try database?.close()
        }
        XCTFail("left by the first test")
        try own.close()
    }

    private func deletedStore(_ name: String) throws -> Database {
        let path = try freshPath("\(name).sqlite")
        defer { XCTAssertNoThrow(try FileManager.default.removeItem(atPath: path)) }
        return try Database(path, journal: "delete", fruit: "apple")
    }
}

/// Names that are difficult for file systems, shells and CI services.
final class NameTests: XCTestCase {
    /// `fruit`: apple.
    func test_CoreData内の果物を更新できる() throws {
        try fail()
    }

    /// `fruit`: apple.
    ///
    /// The name is longer than a bundle's name may be.
    func test_とても長い名前のテストはファイル名の長さの限界を超えるので文字の境目で切られそれでも他の名前と区別でき誰が読んでも意味が分かるようにしておくべきである() throws {
        try fail()
    }

    private func fail() throws {
        let database = try Database(try freshPath("fruit.sqlite"), journal: "wal", fruit: "apple")
        XCTFail("a name")
        try database.close()
    }
}

/// A store whose file is gone.
final class VanishedTests: XCTestCase {
    /// `gone`: apple, from the connection that still has the file open.
    func testDeletedWhileOpen() throws {
        let path = try freshPath("gone.sqlite")
        let database = try Database(path, journal: "delete", fruit: "apple")
        try FileManager.default.removeItem(atPath: path)
        XCTFail("the file is gone")
        XCTAssertFalse(FileManager.default.fileExists(atPath: path), "the file came back")
        try database.close()
    }

    /// `kept`: pear.
    ///
    /// `gone` was closed and deleted before the failure.
    func testDeletedAfterClosing() throws {
        let path = try freshPath("gone.sqlite")
        try Database(path, journal: "delete", fruit: "apple").close()
        try FileManager.default.removeItem(atPath: path)
        let kept = try Database(try freshPath("kept.sqlite"), journal: "wal", fruit: "pear")
        XCTFail("one of two files is gone")
        XCTAssertFalse(FileManager.default.fileExists(atPath: path), "the file came back")
        try kept.close()
    }

    /// `kept`: pear; ten of the 25 other stores are named.
    func testManyDeletedAfterClosing() throws {
        for number in 1...25 {
            let path = try freshPath("gone-\(number).sqlite")
            try Database(path, journal: "delete", fruit: "apple").close()
            try FileManager.default.removeItem(atPath: path)
        }
        let kept = try Database(try freshPath("kept.sqlite"), journal: "wal", fruit: "pear")
        XCTFail("many files are gone")
        try kept.close()
    }
}

/// Tests in a process in which a library opened stores when the process started.
final class FrameworkTests: XCTestCase {
    /// `own`: apple, and the stores that don't belong to a framework.
    func testFailsBesideThem() throws {
        let own = try Database(try freshPath("own.sqlite"), journal: "wal", fruit: "apple")
        // The library is linked even if nothing else calls it.
        XCTAssertEqual(suite_run(UnsafeMutableRawPointer(own.handle), "SELECT 1"), SQLITE_OK)
        XCTFail("beside stores of frameworks")
        try own.close()
    }
}

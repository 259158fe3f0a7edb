import CSuiteSQLite
import Foundation
import XCTest

/// Tests that end their process.
final class CrashTests: XCTestCase {
    /// `crash`: apple and pear are committed, kiwi is not.
    private func openStore(journal: String = "wal") throws -> Database {
        let database = try Database(
            try freshPath("crash.sqlite"), journal: journal, fruit: "apple", "pear")
        try database.execute("BEGIN")
        try database.add("kiwi")
        return database
    }

    func testTraps() throws {
        let database = try openStore()
        let numbers: [Int] = []
        _ = numbers[try database.integer("SELECT 7")]
    }

    func testFatalError() throws {
        _ = try openStore()
        fatalError("the end of the world")
    }

    func testAborts() throws {
        _ = try openStore(journal: "delete")
        abort()
    }

    func testSegmentationFault() throws {
        _ = try openStore()
        signal(SIGSEGV, SIG_DFL)
        raise(SIGSEGV)
    }

    func testIsKilled() throws {
        _ = try openStore()
        killSelf()
    }

    func testUnderscoreExit() throws {
        _ = try openStore()
        _exit(3)
    }

    /// An orderly exit: uncommitted rows can still be seen.
    func testExits() throws {
        _ = try openStore()
        exit(0)
    }

    func testExitsInMemory() throws {
        let database = try Database(":memory:", journal: "memory", fruit: "apple")
        try database.add("pear")
        exit(0)
    }

    /// The first assertion fails, and the process ends later.
    func testFailsAndCrashes() throws {
        let database = try Database(try freshPath("crash.sqlite"), journal: "wal", fruit: "apple")
        XCTFail("failed before the crash")
        try database.add("pear")
        killSelf()
    }

    func testFailsAndExits() throws {
        let database = try Database(try freshPath("crash.sqlite"), journal: "wal", fruit: "apple")
        XCTFail("failed before the exit")
        try database.add("pear")
        exit(0)
    }

    func testCrashesInMemory() throws {
        let database = try Database(":memory:", journal: "memory", fruit: "apple")
        try database.add("pear")
        killSelf()
    }

    func testDeletesItsStoreAndCrashes() throws {
        let path = try freshPath("crash.sqlite")
        try Database(path, journal: "wal", fruit: "apple").close()
        try FileManager.default.removeItem(atPath: path)
        killSelf()
    }

    func testCrashesWithoutAStore() throws {
        killSelf()
    }

    /// The second transaction's pages are already in the file, and the original pages are in the journal.
    func testLeavesAHotJournal() throws {
        let database = try Database(
            try freshPath("crash.sqlite"), journal: "delete", fruit: "apple", "pear")
        try database.execute(
            """
            PRAGMA cache_size = 5; BEGIN; DELETE FROM fruit;
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000)
            INSERT INTO fruit SELECT hex(randomblob(200)) FROM c
            """)
        killSelf()
    }

    /// Writes until the checks end the process.
    ///
    /// Each number on standard output is committed.
    func testWritesForEver() throws {
        let journal = ProcessInfo.processInfo.environment["SUITE_JOURNAL"] ?? "wal"
        let inMemory = ProcessInfo.processInfo.environment["SUITE_STORE"]
        let database = try Database(inMemory ?? freshPath("endless.sqlite"))
        try database.execute(
            "PRAGMA journal_mode = \(journal); CREATE TABLE fruit (name TEXT NOT NULL, content BLOB)")
        for number in 1... {
            try database.execute(
                "INSERT INTO fruit VALUES ('\(number)', randomblob(\(number * 37 % 9000)))")
            say("\(number)")
        }
    }

    /// Hangs until the checks end the process, if they do.
    func testHangs() throws {
        try hang(with: openStore())
    }

    func testFailsAndHangs() throws {
        let database = try openStore()
        XCTFail("failed before it hangs")
        try hang(with: database)
    }

    private func hang(with database: Database) throws {
        say("hanging")
        while try database.integer("SELECT 1") == 1 { pause() }
    }
}

/// A shared store that the first test opens and the second one has open when its process dies.
final class SharedStoreCrashTests: XCTestCase {
    private static let shared = try? Database(
        try freshPath("shared.sqlite"), journal: "wal", fruit: "apple")

    func test1OpensIt() throws {
        XCTAssertNotNil(Self.shared)
    }

    func test2Crashes() throws {
        try Self.shared?.add("pear")
        killSelf()
    }
}

/// Many failures in a row, to be interrupted at any point.
final class ManyFailuresTests: XCTestCase {
    func testNothing() {}

    override class func tearDown() {
        for number in 1...16 {
            FailingTest(name: "test\(number)") { _ in try fail("test\(number)") }.run()
        }
    }

    private static func fail(_ name: String) throws {
        let database = try Database(try freshPath("many.sqlite"), journal: "wal", fruit: name)
        try database.execute(
            """
            CREATE TABLE filler (content BLOB);
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100)
            INSERT INTO filler SELECT randomblob(3000) FROM c
            """)
        say("failing \(name)")
        XCTFail("planned")
        say("failed \(name)")
        try database.close()
    }
}

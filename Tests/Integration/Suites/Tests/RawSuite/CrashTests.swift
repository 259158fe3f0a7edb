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
        kill(getpid(), SIGKILL)
        pause()
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
        kill(getpid(), SIGKILL)
        pause()
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
        kill(getpid(), SIGKILL)
        pause()
    }

    func testDeletesItsStoreAndCrashes() throws {
        let path = try freshPath("crash.sqlite")
        try Database(path, journal: "wal", fruit: "apple").close()
        try FileManager.default.removeItem(atPath: path)
        kill(getpid(), SIGKILL)
        pause()
    }

    func testCrashesWithoutAStore() throws {
        kill(getpid(), SIGKILL)
        pause()
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
        kill(getpid(), SIGKILL)
        pause()
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
        let database = try openStore()
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
        kill(getpid(), SIGKILL)
        pause()
    }
}

/// Many failures in a row, to be interrupted at any point.
final class ManyFailuresTests: XCTestCase {
    private func fail(_ name: String = #function) throws {
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

    func test01() throws { try fail() }
    func test02() throws { try fail() }
    func test03() throws { try fail() }
    func test04() throws { try fail() }
    func test05() throws { try fail() }
    func test06() throws { try fail() }
    func test07() throws { try fail() }
    func test08() throws { try fail() }
    func test09() throws { try fail() }
    func test10() throws { try fail() }
    func test11() throws { try fail() }
    func test12() throws { try fail() }
    func test13() throws { try fail() }
    func test14() throws { try fail() }
    func test15() throws { try fail() }
    func test16() throws { try fail() }
}

/// Writes a line immediately, even if standard output is buffered.
private func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(1, bytes, bytes.count)
}

import CSuiteSQLite
import FailureArtifacts
import Foundation
import XCTest

/// Tests that change the surroundings of their process.
final class SurroundingsTests: XCTestCase {
    private var start = ""

    override func setUp() {
        start = FileManager.default.currentDirectoryPath
    }

    override func tearDown() {
        _ = chdir(start)
        umask(0o022)
    }

    /// `relative`: apple, in the directory where the test began; `registered`: pear.
    func testChangesItsDirectory() throws {
        let store = try openStore("relative.sqlite", fruit: "apple")
        let registered = try openStore("registered.sqlite", fruit: "pear")
        CurrentTest.register(storeAt: URL(fileURLWithPath: "registered.sqlite"), named: "named")
        let other = try freshPath("")
        XCTAssertEqual(chdir(other), 0)
        XCTFail("in another directory")
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: other), [])
        XCTAssertEqual(sqlite3_close(store), SQLITE_OK)
        XCTAssertEqual(sqlite3_close(registered), SQLITE_OK)
    }

    /// `gone`: apple.
    func testRemovesItsDirectory() throws {
        let store = try openStore(try freshPath("gone.sqlite"), fruit: "apple")
        let directory = try freshPath("")
        XCTAssertEqual(chdir(directory), 0)
        XCTAssertEqual(rmdir(directory), 0)
        CurrentTest.attach(Data("data".utf8), named: "attached")
        XCTFail("in no directory")
        XCTAssertEqual(sqlite3_close(store), SQLITE_OK)
    }

    /// `masked`: apple.
    func testSetsAMask() throws {
        let mask = ProcessInfo.processInfo.environment["SUITE_UMASK"].flatMap { mode_t($0, radix: 8) }
        // Opened before the mask is set, which may deny an ordinary user access to new files.
        let store = try openStore(try freshPath("masked.sqlite"), fruit: "apple")
        umask(try XCTUnwrap(mask))
        CurrentTest.snapshot("before")
        CurrentTest.attach(Data("data".utf8), named: "attached")
        XCTFail("with another mask")
        XCTAssertEqual(sqlite3_close(store), SQLITE_OK)
    }

    /// Deletes each store before it makes the next one, so one store's size is enough space.
    ///
    /// `deleted…`, 13 MB each, too much for the recorded states.
    func testDeletesStoresOnASmallDisk() throws {
        let directory = try freshPath("")
        for number in 0..<4 {
            let path = "\(directory)/deleted\(number).sqlite"
            let store = try openStore(path, fruit: "apple")
            let sql = "INSERT INTO fruit VALUES (randomblob(1000000))"
            for _ in 0..<13 {
                XCTAssertEqual(sqlite3_exec(store, sql, nil, nil, nil), SQLITE_OK, "store \(number)")
            }
            XCTAssertEqual(sqlite3_close(store), SQLITE_OK)
            XCTAssertEqual(unlink(path), 0)
        }
        XCTFail("planned")
    }

    /// `first`: apple.
    func testFails() throws {
        let store = try openStore(try freshPath("first.sqlite"), fruit: "apple")
        CurrentTest.attach(Data("data".utf8), named: "attached")
        XCTFail("planned")
        XCTAssertEqual(sqlite3_close(store), SQLITE_OK)
    }
}

/// Tests that fork.
///
/// The parent waits for the child and checks its end.
final class ForkTests: XCTestCase {
    /// No bundle: the child only ends.
    func testChildEnds() throws {
        try inChild { _exit(3) }
    }

    /// No bundle.
    func testChildExits() throws {
        let store = try openStore(try freshPath("before.sqlite"), fruit: "apple")
        try inChild { exit(3) }
        XCTAssertEqual(sqlite3_close(store), SQLITE_OK)
    }

    /// `before`: apple.
    ///
    /// The parent fails before the child exits.
    func testChildExitsAfterAFailure() throws {
        let store = try openStore(try freshPath("before.sqlite"), fruit: "apple")
        XCTFail("before the fork")
        try inChild { exit(3) }
        XCTAssertEqual(sqlite3_close(store), SQLITE_OK)
    }

    /// No bundle: the parent doesn't see the child's failure.
    func testChildFails() throws {
        let store = try openStore(try freshPath("before.sqlite"), fruit: "apple")
        try inChild {
            XCTFail("in the child")
            CurrentTest.snapshot("in the child")
            _exit(3)
        }
        XCTAssertEqual(sqlite3_close(store), SQLITE_OK)
    }

    /// `before`: apple.
    func testChildFailsAndExitsAfterAFailure() throws {
        let store = try openStore(try freshPath("before.sqlite"), fruit: "apple")
        XCTFail("before the fork")
        try inChild {
            XCTFail("in the child")
            exit(3)
        }
        XCTAssertEqual(sqlite3_close(store), SQLITE_OK)
    }

    /// No bundle: the child has its own store.
    func testChildUsesAStore() throws {
        let path = try freshPath("child.sqlite")
        try inChild {
            let store = try? openStore(path, fruit: "apple")
            _exit(store != nil && sqlite3_close(store) == SQLITE_OK ? 3 : 4)
        }
    }

    /// This test's bundle is packed while the next one forks.
    func testFork1Fails() throws { try failLarge() }
    func testFork2Forks() throws { try forkMany() }
    func testFork3Fails() throws { try failLarge() }
    func testFork4Forks() throws { try forkMany() }

    private func failLarge() throws {
        let stores = try (0..<12).map {
            try openStore(try freshPath("large\($0).sqlite"), fruit: "apple")
        }
        for store in stores {
            let sql = """
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000)
                INSERT INTO fruit SELECT hex(randomblob(100)) FROM c
                """
            XCTAssertEqual(sqlite3_exec(store, sql, nil, nil, nil), SQLITE_OK)
        }
        XCTFail("planned")
        for store in stores { XCTAssertEqual(sqlite3_close(store), SQLITE_OK) }
    }

    private func forkMany() throws {
        let directory = try freshPath("")
        for number in 0..<40 {
            try inChild {
                let store = try? openStore("\(directory)/\(number).sqlite", fruit: "apple")
                _exit(store != nil && sqlite3_close(store) == SQLITE_OK ? 3 : 4)
            }
        }
    }

    private func inChild(_ body: () -> Void) throws {
        // Swift doesn't import `fork` on all systems.
        let symbol = try XCTUnwrap(dlsym(everywhere, "fork"))
        fflush(nil)
        let process = unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)()
        if process == 0 {
            body()
            _exit(5)
        }
        XCTAssertGreaterThan(process, 0)
        var status: Int32 = 0
        let deadline = Date(timeIntervalSinceNow: 20)
        while waitpid(process, &status, WNOHANG) == 0 {
            if Date() > deadline {
                kill(process, SIGKILL)
                waitpid(process, &status, 0)
                break
            }
            usleep(1000)
        }
        XCTAssertEqual(status, 3 << 8, "the child hangs or dies")
    }
}

/// The handle that makes `dlsym` search all libraries.
private var everywhere: UnsafeMutableRawPointer? {
    #if canImport(Darwin)
    return RTLD_DEFAULT
    #else
    return nil
    #endif
}

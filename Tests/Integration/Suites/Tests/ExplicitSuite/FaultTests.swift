import CSuiteSQLite
import FailureArtifacts
import Foundation
import XCTest

// Tests during whose captures the system or SQLite fails. The tests themselves must not notice.

/// Runs a failing assertion under the faults that the checks have prepared.
///
/// A preloaded library that makes calls fail is told the time window. `SUITE_HEAP` is the number of bytes
/// that SQLite may allocate in addition.
private func capturing(_ body: () -> Void) {
    typealias Window = @convention(c) (Int32) -> Void
    let window = dlsym(nil, "faults_window").map { unsafeBitCast($0, to: Window.self) }
    if let heap = ProcessInfo.processInfo.environment["SUITE_HEAP"].flatMap(Int64.init) {
        sqlite3_hard_heap_limit64(max(1, sqlite3_memory_used() + heap))
    }
    window?(1)
    body()
    window?(0)
    if ProcessInfo.processInfo.environment["SUITE_HEAP_STAYS"] == nil { sqlite3_hard_heap_limit64(0) }
}

final class FaultTests: XCTestCase {
    private var handles: [OpaquePointer?] = []
    private var descriptors: [Int32] = []

    override func tearDown() {
        for handle in handles { XCTAssertEqual(sqlite3_close(handle), SQLITE_OK) }
        // Closing them earlier would drop SQLite's locks.
        for descriptor in descriptors { close(descriptor) }
        (handles, descriptors) = ([], [])
    }

    /// `wal`: apple and pear, and a store in memory; two attachments and a snapshot.
    func test1FailsWithAWAL() throws {
        let path = try freshPath("wal.sqlite")
        let store = try open(path, journal: "wal")
        add("apple", to: store)
        let memory = try open(":memory:", journal: "memory")
        add("kiwi", to: memory)
        CurrentTest.attach(Data("{}".utf8), named: "request.json")
        let file = URL(fileURLWithPath: try freshPath("log.txt"))
        try Data("a file".utf8).write(to: file)
        CurrentTest.attach(file)
        capturing { CurrentTest.snapshot("before") }
        add("pear", to: store)

        capturing { XCTFail("with a WAL") }

        assertLocked(path, Self.shared, by: F_RDLCK)
        assertLocked(path + "-shm", 128, by: F_RDLCK)
        assertUsable(store, rows: 2)
        assertUsable(memory, rows: 1)
        print("the test with a WAL went on")
    }

    func test2Passes() throws {
        let store = try open(try freshPath("passes.sqlite"), journal: "wal")
        assertUsable(store, rows: 0)
        print("the test that passes went on")
    }

    /// `transaction`: apple and pear; pear is not committed.
    func test3FailsInATransaction() throws {
        let path = try freshPath("transaction.sqlite")
        let store = try open(path, journal: "delete")
        add("apple", to: store)
        XCTAssertEqual(sqlite3_exec(store, "BEGIN", nil, nil, nil), SQLITE_OK)
        add("pear", to: store)

        capturing { XCTFail("in a transaction") }

        assertLocked(path, Self.reserved, by: F_WRLCK)
        XCTAssertEqual(sqlite3_exec(store, "COMMIT", nil, nil, nil), SQLITE_OK)
        assertUsable(store, rows: 2)
        print("the test in a transaction went on")
    }

    /// `rollback`: apple; `closed`, closed before the failure: pear.
    func test4FailsWithARollbackJournal() throws {
        let store = try open(try freshPath("rollback.sqlite"), journal: "delete")
        add("apple", to: store)
        let closed = try open(try freshPath("closed.sqlite"), journal: "wal")
        add("pear", to: closed)
        XCTAssertEqual(sqlite3_close(handles.removeLast()), SQLITE_OK)

        capturing { XCTFail("with a rollback journal") }

        assertUsable(store, rows: 1)
        print("the test with a rollback journal went on")
    }

    /// `others`: apple and pear.
    ///
    /// The connection can't be used, so the files are copied.
    func test6FailsWithAnotherThreadsStore() throws {
        let path = try freshPath("others.sqlite")
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let store = try open(path, journal: "wal", flags: flags)
        add("apple", to: store)
        let handle = UInt(bitPattern: store)
        let done = expectation(description: "another thread has used it")
        Thread.detachNewThread {
            let sql = "INSERT INTO fruit VALUES ('pear')"
            XCTAssertEqual(
                sqlite3_exec(OpaquePointer(bitPattern: handle), sql, nil, nil, nil), SQLITE_OK)
            done.fulfill()
        }
        wait(for: [done], timeout: 60)

        capturing { XCTFail("with another thread's store") }

        assertLocked(path, Self.shared, by: F_RDLCK)
        assertLocked(path + "-shm", 128, by: F_RDLCK)
        assertUsable(store, rows: 2)
        print("the test with another thread's store went on")
    }

    /// `few`: apple.
    ///
    /// `SUITE_DESCRIPTORS` is the number of files that the process may still open.
    func test7FailsWithFewDescriptors() throws {
        let few = ProcessInfo.processInfo.environment["SUITE_DESCRIPTORS"].flatMap { Int($0) }
        let path = try freshPath("few.sqlite")
        let store = try open(path, journal: "wal")
        add("apple", to: store)
        var taken: [Int32] = []
        if let few {
            var limit = rlimit(rlim_cur: 200, rlim_max: 200)
            #if canImport(Darwin)
            setrlimit(RLIMIT_NOFILE, &limit)
            #else
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            #endif
            while case let descriptor = dup(1), descriptor >= 0 { taken.append(descriptor) }
            for descriptor in taken.suffix(few) { close(descriptor) }
            taken.removeLast(min(few, taken.count))
        }

        capturing { XCTFail("with few descriptors") }

        for descriptor in taken { close(descriptor) }
        assertLocked(path, Self.shared, by: F_RDLCK)
        assertLocked(path + "-shm", 128, by: F_RDLCK)
        assertUsable(store, rows: 1)
        print("the test with few descriptors went on")
    }

    /// `large`: more rows than the connection's cache holds, so that pages are read from the file.
    func test9FailsInALargeTransaction() throws {
        let path = try freshPath("large.sqlite")
        let store = try open(path, journal: "delete")
        let sql = """
            CREATE TABLE filler (content TEXT);
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 40)
            INSERT INTO filler SELECT printf('%3000d', n) FROM c;
            PRAGMA cache_size = 5; PRAGMA shrink_memory; BEGIN
            """
        XCTAssertEqual(sqlite3_exec(store, sql, nil, nil, nil), SQLITE_OK)
        add("apple", to: store)

        capturing { XCTFail("in a large transaction") }

        XCTAssertEqual(sqlite3_exec(store, "COMMIT", nil, nil, nil), SQLITE_OK)
        assertUsable(store, rows: 1)
        print("the test in a large transaction went on")
    }

    /// `last`: apple.
    ///
    /// The shortage lasts until the process ends.
    func test5FailsAtItsEnd() throws {
        let store = try open(try freshPath("last.sqlite"), journal: "wal")
        add("apple", to: store)
        capturing { XCTFail("at its end") }
        print("the test went on")
    }

    // MARK: Stores

    private func open(
        _ path: String, journal: String, flags: Int32 = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    ) throws -> OpaquePointer? {
        let handle = try openStore(path, journal: journal, flags: flags)
        handles.append(handle)
        return handle
    }

    private func add(_ fruit: String, to handle: OpaquePointer?) {
        let sql = "INSERT INTO fruit VALUES ('\(fruit)')"
        XCTAssertEqual(sqlite3_exec(handle, sql, nil, nil, nil), SQLITE_OK)
    }

    /// Checks that the connection has its rows and can write.
    private func assertUsable(_ handle: OpaquePointer?, rows: Int32) {
        func number(_ sql: String) -> Int32 {
            var statement: OpaquePointer?
            defer { sqlite3_finalize(statement) }
            XCTAssertEqual(sqlite3_prepare_v2(handle, sql, -1, &statement, nil), SQLITE_OK)
            XCTAssertEqual(sqlite3_step(statement), SQLITE_ROW)
            return sqlite3_column_int(statement, 0)
        }
        XCTAssertEqual(number("SELECT count(*) FROM fruit"), rows)
        add("more", to: handle)
        XCTAssertEqual(number("SELECT count(*) FROM fruit"), rows + 1)
        XCTAssertEqual(
            number("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1)
    }

    /// The bytes of a database file that SQLite locks.
    private static let (reserved, shared) = (0x4000_0001, 0x4000_0002)

    /// Checks that the process still has its lock on a byte of a file.
    private func assertLocked(_ path: String, _ byte: Int, by type: Int32) {
        #if os(Linux)
        let descriptor = Foundation.open(path, O_RDONLY)
        descriptors.append(descriptor)
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = byte
        lock.l_len = 1
        // F_OFD_GETLK: a lock of the open file conflicts with those of every process, including this one's.
        XCTAssertEqual(fcntl(descriptor, 36, &lock), 0)
        XCTAssertEqual(Int32(lock.l_type), Int32(type), "the lock on \(path) is gone")
        #endif
    }
}

/// The only test in its process, because the limits apply to all threads.
final class OpeningTests: XCTestCase {
    /// Prints the result codes of opening a store with little memory.
    func testOpens() throws {
        var codes: [String] = []
        for bytes in stride(from: Int64(0), to: 60_000, by: 41) {
            var handle: OpaquePointer?
            sqlite3_hard_heap_limit64(max(1, sqlite3_memory_used() + bytes))
            let code = sqlite3_open(":memory:", &handle)
            sqlite3_hard_heap_limit64(0)
            sqlite3_close(handle)
            codes.append("\(code)")
        }
        XCTAssertEqual(codes.last, "0")
        print(codes.joined(separator: " "))
    }
}

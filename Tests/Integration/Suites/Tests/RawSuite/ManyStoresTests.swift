import CSuiteSQLite
import Foundation
import XCTest

/// Many stores at once, and many one after the other.
final class ManyStoresTests: XCTestCase {
    nonisolated(unsafe) private static var filesBefore: [String] = []
    nonisolated(unsafe) private static var memory = 0

    /// `store-0` to `store-49`: apple and the store's number, each with 20,000 bytes of noise.
    func testFiftyOpenStores() throws {
        let databases = try (0..<50).map { number in
            let database = try Database(
                try freshPath("store-\(number).sqlite"), journal: number % 2 == 0 ? "wal" : "delete",
                fruit: "apple", "\(number)")
            try database.execute("CREATE TABLE noise AS SELECT randomblob(20000) AS bytes")
            return database
        }
        XCTFail("fifty stores")
        for database in databases { try database.close() }
    }

    /// No bundle; ten thousand stores of each kind come and go.
    func test1Passes() throws {
        Self.filesBefore = try openFiles()
        let path = try freshPath("again.sqlite")
        for number in 0..<10_000 {
            // The first stores fill the test's saved states and the allocator's caches.
            if number == 2000 { Self.memory = try residentBytes() }
            let memory = try Database(":memory:")
            try memory.execute(
                "CREATE TABLE t(a); BEGIN; INSERT INTO t VALUES (zeroblob(9000)); ROLLBACK")
            try memory.close()
            let file = try Database(path)
            try file.execute("PRAGMA synchronous = off; CREATE TABLE IF NOT EXISTS t(a)")
            try file.close()
            // Deleted after its close, which keeps its state until the end of the test at most.
            if number % 100 == 0 { try FileManager.default.removeItem(atPath: path) }
        }
        XCTAssertLessThan(try residentBytes() - Self.memory, 8 << 20, "memory grows")
        XCTAssertLessThan(
            try openFiles().count - Self.filesBefore.count, 200, "descriptors are left open")
    }

    /// No bundle; the states saved for the preceding test are gone.
    func test2PassesToo() throws {
        // The product's thread may have had a file open before: it tidies up after dead processes at the start.
        var added = try openFiles()
        for file in Self.filesBefore {
            if let index = added.firstIndex(of: file) { added.remove(at: index) }
        }
        XCTAssertEqual(added, [])
    }

    /// Returns the paths of open files, because the system's queues and timers come and go.
    ///
    /// It leaves out the file that lists the open stores of each test until the process ends.
    private func openFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").sorted().compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
        }.filter { $0.hasPrefix("/") && !$0.contains("/.in-flight/recorder-") }
    }

    private func residentBytes() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return try XCTUnwrap(Int(text.split(separator: " ")[1])) * 4096
    }
}

/// An application whose own VFS is SQLite's default one.
final class DefaultFileSystemTests: XCTestCase {
    nonisolated(unsafe) private static var opened: [String] = []

    /// `ours`: apple.
    ///
    /// The copy must not use that VFS, which might encrypt it.
    func testHasAVFSOfItsOwn() throws {
        let system = try XCTUnwrap(sqlite3_vfs_find(nil))
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        vfs.initialize(from: system, count: 1)
        vfs.pointee.zName = UnsafePointer(strdup("application"))
        vfs.pointee.xOpen = { _, path, file, flags, outFlags in
            if let path { DefaultFileSystemTests.opened.append(String(cString: path)) }
            guard let system = sqlite3_vfs_find("unix") else { return SQLITE_ERROR }
            return system.pointee.xOpen(system, path, file, flags, outFlags)
        }
        XCTAssertEqual(sqlite3_vfs_register(vfs, 1), SQLITE_OK)
        let path = try freshPath("ours.sqlite")
        let database = try Database(path, journal: "delete", fruit: "apple")
        XCTAssertTrue(Self.opened.contains(path))

        XCTFail("with a VFS of its own")

        let others = Self.opened.filter { !$0.hasPrefix(path) }
        XCTAssertEqual(others, [], "the copy went through the application's VFS")
        try database.close()
        sqlite3_vfs_unregister(vfs)
    }
}

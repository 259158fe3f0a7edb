import CSuiteSQLite
import Foundation
import XCTest

/// Tests whose process dies after some statements, and tests that hinder the flight recorder.
///
/// The checks find the lines of statements by the comments at their ends.
final class RecorderTests: XCTestCase {
    nonisolated(unsafe) private static var ofTheClass: Database?

    override class func setUp() {
        ofTheClass = try? Database(try freshPath("class.sqlite"), journal: "wal", fruit: "banana")
    }

    private func variable(_ name: String) -> String {
        ProcessInfo.processInfo.environment[name] ?? ""
    }

    /// Dies in the way that `SUITE_DEATH` names.
    private func die() throws {
        switch variable("SUITE_DEATH") {
        case "SIGKILL": kill(getpid(), SIGKILL)
        case "fatalError": fatalError("the end")
        case "exit": exit(0)
        case "hang": say("hanging")
        default: return
        }
        while true { pause() }
    }

    /// Uses two connections to one store, a store in memory, and a store of the class.
    func testDies() throws {
        let path = try freshPath("crash.sqlite")
        let first = try Database(path, journal: "wal", fruit: "apple")
        let second = try Database(path)
        let memory = try Database(":memory:", journal: "memory", fruit: "plum")
        sqlite3_exec(memory.handle, "UPDATE fruit SET name = 'prune'", nil, nil, nil)  // memory
        let ofTheClass = try XCTUnwrap(Self.ofTheClass)
        sqlite3_exec(ofTheClass.handle, "INSERT INTO fruit VALUES ('kiwi')", nil, nil, nil)  // class
        sqlite3_exec(first.handle, "INSERT INTO fruit VALUES ('pear')", nil, nil, nil)  // first
        sqlite3_exec(second.handle, "UPDATE fruit SET name = name || 's'", nil, nil, nil)  // last
        try die()
    }

    /// Closes all descriptors, and opens other files in their place.
    func testClosesDescriptors() throws {
        let memory = try Database(":memory:", journal: "memory", fruit: "before")
        let directory = variable("SUITE_OWN_FILES")
        for descriptor in try openDescriptors() where descriptor > 2 { close(descriptor) }
        for number in 3..<64 {
            let descriptor = open("\(directory)/\(number)", O_CREAT | O_RDWR, 0o600)
            XCTAssertEqual(write(descriptor, "mine", 4), 4)
        }
        // More than the part of the recorder that is in use.
        for number in 0..<20 { try memory.add("\(number)" + String(repeating: "x", count: 4000)) }
        try die()
    }

    /// A child runs statements on its parent's connections.
    func testForks() throws {
        let file = try Database(try freshPath("forked.sqlite"), journal: "delete", fruit: "apple")
        let memory = try Database(":memory:", journal: "memory", fruit: "plum")
        // Swift doesn't import `fork` on all systems.
        let symbol = try XCTUnwrap(dlsym(dlopen(nil, RTLD_NOW), "fork"))
        let process = unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)()
        if process == 0 {
            for number in 0..<300 {
                let sql = "SELECT 'of the child', \(number), '\(String(repeating: "x", count: 1000))'"
                for store in [file, memory] {
                    guard (try? store.execute(sql)) != nil else { _exit(4) }
                }
            }
            guard (try? memory.add("of the child")) != nil,
                let own = try? Database(":memory:", journal: "memory", fruit: "of the child")
            else { _exit(4) }
            _exit(own.handle == nil ? 4 : 3)
        }
        var status: Int32 = 0
        XCTAssertEqual(waitpid(process, &status, 0), process)
        XCTAssertEqual(status, 3 << 8)
        try memory.add("prune")
        try file.add("pear")
        try die()
    }

    /// Fills more of the recorder than a small disk has space for.
    func testRunsManyStatements() throws {
        let stores = try (0..<40).map { _ in
            try Database(":memory:", journal: "memory", fruit: "apple")
        }
        for number in 0..<40 {
            for store in stores { try store.add("\(number)" + String(repeating: "x", count: 1000)) }
        }
        for store in stores {
            XCTAssertEqual(try store.integer("SELECT count(*) FROM fruit"), 41)
            try store.close()
        }
    }

    /// Two threads run numbered statements until the checks end the process.
    func testRunsNumberedStatementsForEver() throws {
        let stores = [
            try Database(try freshPath("numbered.sqlite")),
            try Database(try freshPath("numbers.sqlite")),
        ]
        for store in stores {
            try store.execute("PRAGMA journal_mode = wal")
            try store.execute("PRAGMA synchronous = off")
            try store.execute("CREATE TABLE numbers (a INTEGER PRIMARY KEY, b)")
        }
        say("running")
        for store in stores {
            Thread.detachNewThread {
                for number in 1... {
                    let padding = String(repeating: "x", count: number * 37 % 701)
                    let sql = "INSERT INTO numbers VALUES (\(number), \(3 * number)) -- \(padding)."
                    guard sqlite3_exec(store.handle, sql, nil, nil, nil) == SQLITE_OK else { abort() }
                }
            }
        }
        while true { pause() }
    }
}

/// The only store is in memory, and older than the test.
final class RecorderOfClassTests: XCTestCase {
    nonisolated(unsafe) private static var ofTheClass: Database?

    override class func setUp() {
        ofTheClass = try? Database(":memory:", journal: "memory", fruit: "banana")
    }

    func testIsKilled() throws {
        try Self.ofTheClass?.add("kiwi")
        kill(getpid(), SIGKILL)
    }
}

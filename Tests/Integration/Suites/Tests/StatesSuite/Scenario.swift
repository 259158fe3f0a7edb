import CSuiteSQLite
import Foundation
import XCTest

/// The automatic extension of the application.
enum AutomaticExtension {
    private static let lock = NSLock()
    nonisolated(unsafe) private static var count = 0
    nonisolated(unsafe) private static var answer: () -> Void = {}

    /// The number of its calls by all threads.
    static var calls: Int { lock.withLock { count } }

    static func install() {
        let function:
            @convention(c) (
                OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, OpaquePointer?
            ) -> Int32 = { _, _, _ in
                AutomaticExtension.lock.withLock { AutomaticExtension.count += 1 }
                AutomaticExtension.answer()
                return SQLITE_OK
            }
        // The header declares it as a function without arguments.
        sqlite3_auto_extension(unsafeBitCast(function, to: (@convention(c) () -> Void).self))
    }

    /// Sets its action while the body runs.
    static func on(_ call: @escaping () -> Void, _ body: () -> Void) {
        answer = call
        body()
        answer = {}
    }
}

/// SQLite's error log, set by the application.
enum ErrorLog {
    private static let lock = NSLock()
    nonisolated(unsafe) private static var logged: [Int32] = []

    /// The codes of all messages, in order.
    static var codes: [Int32] { lock.withLock { logged } }

    /// Sets the log, which SQLite allows only before its first use.
    static func install() {
        let code = suite_config_log(
            { _, code, _ in ErrorLog.lock.withLock { ErrorLog.logged.append(code) } }, nil)
        precondition(code == SQLITE_OK, "SQLite is in use already")
    }
}

/// One run of a state with one kind of store.
final class Scenario {
    let setting: Setting
    let log: Observations
    /// The VFS of all connections; nil for the default.
    var vfs: String?
    private let name: String
    private let directory: String
    private var connections: [Connection] = []
    private var hasFailed = false

    init(_ state: String, _ setting: Setting, directory: String, log: Observations) throws {
        name = "\(state) \(setting.rawValue)"
        (self.setting, self.directory, self.log) = (setting, directory, log)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        ErrorLog.install()
        AutomaticExtension.install()
    }

    /// Returns the path of a file of the run.
    func path(_ file: String) -> String { directory + "/" + file }

    // MARK: - Stores

    /// The statements that fill a store.
    static let content = """
        CREATE TABLE fruit (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
        INSERT INTO fruit (name) VALUES ('apple'), ('banana');
        CREATE TABLE filler (id INTEGER PRIMARY KEY, data BLOB);
        WITH RECURSIVE number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < 24)
            INSERT INTO filler (data) SELECT randomblob(4000) FROM number;
        """

    /// Creates and closes a store's file.
    func makeFile(_ file: String = "shop.db", isLog: Bool? = nil) {
        var handle: OpaquePointer?
        sqlite3_open_v2(path(file), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs)
        if isLog ?? (setting.journal == "wal") {
            sqlite3_exec(handle, "PRAGMA journal_mode = wal", nil, nil, nil)
        }
        let code = sqlite3_exec(handle, Self.content, nil, nil, nil)
        precondition(code == SQLITE_OK && sqlite3_close(handle) == SQLITE_OK, "cannot make the store")
    }

    /// Opens a connection without running anything on it.
    func openOnly(_ name: String = "a", file: String? = nil, flags: Int32 = SQLITE_OPEN_READWRITE)
        -> Connection
    {
        let place = file.map { $0.hasPrefix("file:") ? $0 : path($0) } ?? defaultPlace
        let mutex = setting.hasMutex ? SQLITE_OPEN_FULLMUTEX : SQLITE_OPEN_NOMUTEX
        let connection = Connection(
            name, path: place,
            flags: flags | mutex | SQLITE_OPEN_CREATE * (flags & SQLITE_OPEN_READONLY == 0 ? 1 : 0),
            vfs: vfs, log: log)
        connections.append(connection)
        return connection
    }

    private var defaultPlace: String {
        switch setting {
        case .inMemory, .inMemoryWithoutMutex: ":memory:"
        case .temporary: ""
        default: path("shop.db")
        }
    }

    /// Opens the store of the run in its journal mode, and reads from it.
    func open() -> Connection {
        if setting.isFile { makeFile() }
        let connection = openOnly()
        if !setting.isFile {
            sqlite3_exec(connection.handle, Self.content, nil, nil, nil)
        } else {
            use(connection)
        }
        return connection
    }

    /// Sets the journal mode and reads.
    func use(_ connection: Connection) {
        if let journal = setting.journal { connection.run("PRAGMA journal_mode = \(journal)") }
        connection.run("SELECT count(*) FROM fruit")
    }

    /// Opens the store, begins a transaction and adds a row.
    func openInTransaction() -> Connection {
        let connection = open()
        connection.run("BEGIN")
        connection.add("pear")
        return connection
    }

    // MARK: - The failure

    /// Fails the test once, and records the state before and after.
    ///
    /// - Parameter around: A closure that runs its argument in surroundings that exist only during the
    ///   failure.
    func fail(around: (() -> Void) -> Void = { $0() }) {
        guard !hasFailed else { return }
        hasFailed = true
        observe("before")
        let listing = Listing(directory)
        // Wait, so that later changes have different times.
        usleep(8000)
        let opened = AutomaticExtension.calls
        let logged = ErrorLog.codes.count
        around { XCTFail("in the state \(name)") }
        log("after: calls of the automatic extension", AutomaticExtension.calls - opened)
        log("after: error log", ErrorLog.codes.dropFirst(logged).map(String.init).joined(separator: " "))
        log("after: touched", Listing(directory).changes(since: listing))
        observe("after")
        probe()
    }

    private func observe(_ phase: String) {
        for connection in connections { connection.observe(phase) }
        let listing = Listing(directory)
        log("\(phase): files", listing.files)
        log("\(phase): locks", listing.locks)
        log("\(phase): heap limits", [sqlite3_soft_heap_limit64(-1), sqlite3_hard_heap_limit64(-1)])
    }

    /// Records the access that another process has to the store's file.
    private func probe() {
        guard setting.isFile else { return }
        let sql = """
            BEGIN IMMEDIATE; SELECT group_concat(name) FROM fruit; ROLLBACK; BEGIN EXCLUSIVE; ROLLBACK;
            """.replacingOccurrences(of: "; ", with: ";\n")
        let options = vfs.map { "-vfs \($0)" } ?? ""
        let command = "printf '%s\\n' '\(sql)' | sqlite3 \(options) '\(path("shop.db"))' 2>&1"
        guard let pipe = popen(command, "r") else { return log("other process", "not started") }
        var (output, line) = ("", [CChar](repeating: 0, count: 1000))
        while fgets(&line, Int32(line.count), pipe) != nil {
            output += String(
                decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
        pclose(pipe)
        log("other process", output)
    }

    // MARK: - Afterwards

    /// Records the rows that the connections and another one see, and closes all connections.
    func finish() {
        log("failed", hasFailed)
        observe("end")
        for connection in connections where connection.handle != nil {
            for pragma in ["cache_size", "query_only", "locking_mode", "journal_mode", "data_version"] {
                connection.run("PRAGMA \(pragma)")
            }
            connection.run("SELECT group_concat(name) FROM (SELECT name FROM fruit ORDER BY id)")
            connection.run("SELECT count(*), sum(length(data)) FROM filler")
        }
        if setting.isFile { tryToEndLog() }
        for connection in connections { connection.close() }
        log("left", Listing(directory).files)
        log("left locks", Listing(directory).locks)
    }

    /// Records the rows that a second connection sees, and if it can remove the WAL.
    func tryToEndLog() {
        let other = Connection(
            "other", path: path("shop.db"), flags: SQLITE_OPEN_READWRITE, vfs: vfs, log: log)
        other.run("SELECT group_concat(name) FROM fruit")
        other.run("PRAGMA journal_mode = delete")
        other.close()
    }
}

extension Connection {
    /// Adds a row to `fruit`.
    func add(_ fruit: String) { run("INSERT INTO fruit (name) VALUES ('\(fruit)')") }
}

import CFailureArtifactsCapture
import CFailureArtifactsShared
import CFailureArtifactsSQLite
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// The states that are recorded page by page.
@Suite struct RecordedStatesTests {
    init() {
        ConnectionRegistry.shared.install()
        failure_artifacts_history_test_starts()
    }

    // MARK: Random transactions

    /// A store and the pragmas with which transactions run.
    struct Kind: CustomTestStringConvertible {
        /// The path, relative for a file.
        var path = "shop.sqlite"
        var pragmas = ""
        var connections = 1
        var testDescription: String { "\(connections) × \(path) \(pragmas)" }
    }

    static let kinds: [Kind] =
        [":memory:", "", "shop.sqlite"].flatMap { path in
            [0, 1, 2].map { Kind(path: path, pragmas: "PRAGMA auto_vacuum = \($0)") }
        }
        + ["delete", "truncate", "persist", "memory", "off"].map {
            Kind(pragmas: "PRAGMA journal_mode = \($0)", connections: 2)
        }
        + [
            Kind(path: ":memory:", pragmas: "PRAGMA page_size = 512"),
            Kind(path: ":memory:", pragmas: "PRAGMA journal_mode = off"),
            Kind(path: "", pragmas: "PRAGMA cache_size = 8"), Kind(pragmas: "PRAGMA cache_size = 8"),
            Kind(pragmas: "PRAGMA locking_mode = exclusive"),
            Kind(pragmas: "PRAGMA page_size = 8192; PRAGMA mmap_size = 1000000"),
            Kind(pragmas: "PRAGMA journal_mode = wal"),
            Kind(pragmas: "PRAGMA journal_mode = wal", connections: 2),
            Kind(
                pragmas:
                    "PRAGMA auto_vacuum = 2; PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 3",
                connections: 2),
            Kind(
                path: "file:shared?mode=memory&cache=shared", pragmas: "PRAGMA read_uncommitted = 1",
                connections: 2),
        ]

    /// A statement that is often refused, such as a `COMMIT` without a transaction.
    static func statement(_ random: inout SplitMix) -> String {
        func number(_ limit: UInt64) -> UInt64 { random.next(below: limit) }
        let id = number(500)
        switch number(100) {
        case ..<35: return "INSERT INTO t(a, b) VALUES (hex(zeroblob(\(number(300)))), \(number(1000)))"
        case ..<45:
            return "INSERT INTO u VALUES ((SELECT max(id) FROM t), zeroblob(\(number(9000))) || \(id))"
        case ..<60: return "UPDATE t SET b = b + 1, a = a || 'x' WHERE id = \(id)"
        case ..<65: return "DELETE FROM t WHERE id BETWEEN \(id) AND \(id + number(40))"
        case ..<70: return "BEGIN"
        case ..<75: return "COMMIT"
        case ..<78: return "ROLLBACK"
        case ..<80: return "SAVEPOINT s"
        case ..<82: return "ROLLBACK TO s"
        case ..<84: return "RELEASE s"
        case 84: return "CREATE TABLE IF NOT EXISTS z\(number(20))(q)"
        case 85: return "DROP TABLE IF EXISTS z\(number(20))"
        case 86 where number(10) == 0: return "VACUUM"
        case 87 where number(5) == 0: return "DELETE FROM u"
        case 88: return "PRAGMA incremental_vacuum(\(number(10)))"
        case 89 where number(10) == 0: return "PRAGMA page_size = \(512 << number(5)); VACUUM"
        case 90 where number(5) == 0:
            return """
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT \(1 + number(2000)))
                INSERT INTO t(a, b) SELECT 'row ' || n, n FROM c
                """
        default: return "SELECT count(*), sum(length(a)) FROM t WHERE b < \(number(1000))"
        }
    }

    /// Returns what the main database of a connection has, without the content of free pages, which has no meaning; nil
    /// if SQLite refuses.
    private static func content(_ handle: OpaquePointer?) -> [UInt8]? {
        failure_artifacts_discovery_pause()
        defer { failure_artifacts_discovery_resume() }
        // Serializing uses the page size that the connection knew before.
        sqlite3_exec(handle, "SELECT 1 FROM sqlite_schema LIMIT 1", nil, nil, nil)
        var size: Int64 = 0
        guard let bytes = sqlite3_serialize(handle, "main", &size, 0) else {
            return size == 0 ? [] : nil
        }
        defer { sqlite3_free(bytes) }
        return masked(Array(UnsafeRawBufferPointer(start: bytes, count: Int(size))))
    }

    private static func masked(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count >= 512 else { return bytes }
        let stated = Int(bytes[16]) << 8 | Int(bytes[17])
        let pageSize = stated == 1 ? 65_536 : stated
        func page(_ number: UInt32) -> Range<Int> {
            let start = Int(number - 1) * pageSize
            return start..<start + pageSize
        }
        var result = bytes
        for leaf in Freelist(
            databaseSize: UInt32(bytes.count / pageSize), read: { Array(bytes[page($0)]) }
        ).leaves {
            result.replaceSubrange(page(leaf), with: [UInt8](repeating: 0, count: pageSize))
        }
        // Rebuilt states open without a WAL. What the copy of the last state may change differs, too.
        for range in [18..<20, 24..<28, 40..<44, 92..<100] {
            result.replaceSubrange(range, with: [UInt8](repeating: 0, count: range.count))
        }
        return result
    }

    @Test(arguments: kinds) func statesOfRandomTransactions(_ kind: Kind) throws {
        for seed in 0..<UInt64(rounds(1, of: 2)) {
            try withTemporaryDirectory { try compareStates(of: kind, seed: seed, in: $0) }
        }
    }

    private func compareStates(of kind: Kind, seed: UInt64, in directory: String) throws {
        let path = kind.path.hasSuffix("sqlite") ? "\(directory)/\(kind.path)" : kind.path
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI
        let first = try ApplicationHandle(path, flags: flags)
        // With a WAL, a connection may see an earlier state. This one is not discovered, and holds none.
        failure_artifacts_discovery_pause()
        let reader = Result { try ApplicationHandle(path, flags: flags) }
        failure_artifacts_discovery_resume()
        let hasWAL = kind.pragmas.contains("wal")
        let observer = hasWAL ? try reader.get() : first
        var truth: [[UInt8]] = []
        var refusals = 0
        func note(_ handles: [ApplicationHandle]) {
            let isWritten = handles.contains {
                sqlite3_txn_state($0.handle, "main") == SQLITE_TXN_WRITE
            }
            if isWritten, !hasWAL { return }
            guard let content = Self.content(observer.handle) else { return refusals += 1 }
            if content != truth.last { truth.append(content) }
        }
        for sql in kind.pragmas.split(separator: "; ") + [
            "PRAGMA synchronous = off", "PRAGMA foreign_keys = on",
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INT)", "CREATE INDEX i ON t(b)",
            "CREATE TABLE u(x REFERENCES t(id) ON DELETE CASCADE, y BLOB)",
        ] {
            _ = first.failure(of: String(sql))
            note([first])
        }
        var handles = [first]
        for _ in 1..<kind.connections {
            let other = try ApplicationHandle(path, flags: flags)
            for sql in kind.pragmas.split(separator: "; ") { _ = other.failure(of: String(sql)) }
            handles.append(other)
            note(handles)
        }
        var random = SplitMix(seed: seed &* 31 &+ UInt64(kind.testDescription.utf8.count))
        for _ in 0..<300 {
            failure_artifacts_history_test_starts()
            let handle = random.pick(handles)
            for sql in Self.statement(&random).split(separator: "; ") {
                _ = handle.failure(of: String(sql))
                note(handles)
            }
        }
        // One connection may keep another one from committing.
        for handle in handles + handles { _ = handle.failure(of: "COMMIT") }
        note(handles)
        try first.use()
        let storeCopy = capture(try first.store, in: directory)
        let summary = try #require(storeCopy.history, "\(storeCopy)")
        #expect(summary.transactions > 0 && summary.commits.count == summary.transactions)
        let odd = summary.commits.enumerated().filter { $1.isMerged || $1.isForeign }.map(\.offset)
        #expect(odd.isEmpty)
        let history = try HistoryReader(path: directory + "/copy.wal-history")
        var index = truth.count - 1
        for state in stride(from: summary.transactions, through: 0, by: -1) {
            let path = "\(directory)/state.sqlite"
            try history.rebuild(at: state, from: "\(directory)/copy.sqlite", to: path)
            let content = Self.masked(try FileSystem.contents(ofFile: path))
            try FileSystem.remove(path)
            // The state before the first transaction of a new store.
            if content.isEmpty { continue }
            // The content of free pages may differ between two states that are equal otherwise.
            let window =
                refusals > 0
                ? 0...max(0, index) : max(0, index - 1)...max(0, min(index + 1, truth.count - 1))
            guard let found = window.reversed().first(where: { truth[$0] == content }) else {
                if refusals == 0 {
                    Issue.record(
                        "State \(state) of \(summary.transactions) was never there, seed \(seed).")
                    return
                }
                continue
            }
            index = found - 1
        }
    }
}

// MARK: - Non-interference

extension ProcessWideTests {
    /// Other tests would read the stores at the same time.
    @Suite struct RecordedCacheTests {
        init() { ConnectionRegistry.shared.install() }

        /// The pages that SQLite finds in its cache, reads, writes and drops are the same with and without recording.
        @Test(arguments: [
            "", "PRAGMA journal_mode = persist", "PRAGMA journal_mode = wal", "PRAGMA auto_vacuum = 1",
        ])
        func theCacheBehavesAsWithoutRecording(pragma: String) throws {
            try withTemporaryDirectory { directory in
                for (seed, size) in [8, 15, 30, 50, 100, 2000].enumerated() {
                    let recorded = try ApplicationHandle("\(directory)/recorded-\(size).sqlite")
                    // What is opened while discovery is paused is not recorded.
                    failure_artifacts_discovery_pause()
                    let plain = Result { try ApplicationHandle("\(directory)/plain-\(size).sqlite") }
                    failure_artifacts_discovery_resume()
                    let application = try plain.get()
                    var random = SplitMix(seed: UInt64(seed))
                    let statements = (0..<400).map { _ in RecordedStatesTests.statement(&random) }
                    let start = [
                        pragma, "PRAGMA cache_size = \(size)", "PRAGMA synchronous = off",
                        "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INT)",
                        "CREATE INDEX i ON t(b)",
                        "CREATE TABLE u(x REFERENCES t(id) ON DELETE CASCADE, y BLOB)",
                    ]
                    for sql in start + statements {
                        #expect(recorded.failure(of: sql) == application.failure(of: sql), "\(sql)")
                    }
                    #expect(Self.counters(of: recorded) == Self.counters(of: application))
                }
            }
        }

        static func counters(of application: ApplicationHandle) -> [Int32] {
            [
                SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS, SQLITE_DBSTATUS_CACHE_WRITE,
                SQLITE_DBSTATUS_CACHE_SPILL,
            ].map { counter in
                var (value, highest): (Int32, Int32) = (0, 0)
                sqlite3_db_status(application.handle, counter, &value, &highest, 0)
                return value
            }
        }
    }
}

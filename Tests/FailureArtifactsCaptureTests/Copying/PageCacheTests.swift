import CFailureArtifactsCapture
import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// Stores that are read from the page cache of their connection, because nothing may run on it.
@Suite struct PageCacheTests {
    init() { ConnectionRegistry.shared.install() }

    // MARK: Random transactions

    /// The pages that a reading of the cache gives, by number.
    fileprivate final class Pages {
        var pages: [UInt32: [UInt8]] = [:]

        static let add:
            @convention(c) (UnsafeMutableRawPointer?, UInt32, UnsafeRawPointer?, Int) -> Void =
                { context, number, bytes, size in
                    guard let context else { return }
                    Unmanaged<Pages>.fromOpaque(context).takeUnretainedValue().pages[number] =
                        Array(UnsafeRawBufferPointer(start: bytes, count: size))
                }

        /// Reads the main database of a connection; nil if it can't be read.
        init?(of record: UnsafeMutablePointer<failure_artifacts_connection>) {
            var cached = failure_artifacts_cached_database()
            guard failure_artifacts_may_read_cache(record, "main", &cached) else { return nil }
            let context = Unmanaged.passUnretained(self).toOpaque()
            guard failure_artifacts_read_cache(record, "main", cached, context, Pages.add) else {
                return nil
            }
            #expect(pages.count == Int(cached.page_count))
            #expect(pages.keys.allSatisfy { 1...cached.page_count ~= $0 })
        }
    }

    private static let kinds =
        RecordedStatesTests.kinds.filter { $0.connections == 1 }
        + ["wal", "delete", "memory", "off"].flatMap { mode in
            [5, 20, 2000].map {
                RecordedStatesTests.Kind(
                    pragmas: "PRAGMA journal_mode = \(mode); PRAGMA cache_size = \($0)")
            }
        }

    /// Inside an explicit transaction, SQLite's own image of the database shows if the pages are right.
    @Test(arguments: kinds) func theCacheHasWhatSerializingGives(_ kind: RecordedStatesTests.Kind) throws
    {
        try withTemporaryDirectory { directory in
            let path = kind.path.hasSuffix("sqlite") ? "\(directory)/\(kind.path)" : kind.path
            let application = try ApplicationHandle(path)
            for sql in kind.pragmas.split(separator: "; ") { _ = application.failure(of: String(sql)) }
            try application.run(
                """
                PRAGMA synchronous = off; CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INT);
                CREATE INDEX i ON t(b); CREATE TABLE u(x REFERENCES t(id) ON DELETE CASCADE, y BLOB)
                """)
            let record = try application.discovered.record
            var random = SplitMix(seed: UInt64(kind.testDescription.utf8.count))
            var read = 0
            for _ in 0..<300 {
                let sql = RecordedStatesTests.statement(&random)
                _ = application.failure(of: sql)
                guard sqlite3_txn_state(application.handle, "main") == SQLITE_TXN_WRITE,
                    let found = Pages(of: record)
                else { continue }
                var size: Int64 = 0
                let bytes = try #require(sqlite3_serialize(application.handle, "main", &size, 0))
                defer { sqlite3_free(bytes) }
                let pageSize = found.pages[1]?.count ?? 1
                #expect(Int(size) == pageSize * found.pages.count)
                let isSame = found.pages.allSatisfy { number, page in
                    memcmp(bytes + (Int(number) - 1) * pageSize, page, pageSize) == 0
                }
                #expect(isSame, "after \(sql)")
                if !isSame { return }
                read += 1
            }
            #expect(read > 0)
        }
    }

    // MARK: Statements that write

    /// A connection whose callbacks make copies of its store.
    private final class Copier {
        let application: ApplicationHandle
        let directory: String
        /// The values in the copies, by the method that made them.
        private(set) var copies: [(StoreCopy, String)] = []

        init(_ application: ApplicationHandle, in directory: String) {
            self.application = application
            self.directory = directory
        }

        var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

        static func copies(_ context: UnsafeMutableRawPointer?) {
            guard let context else { return }
            Unmanaged<Copier>.fromOpaque(context).takeUnretainedValue().copy()
        }

        func copy() {
            do {
                let storeCopy = capture(try application.store, in: directory, timeLimit: 0.3)
                let query =
                    "PRAGMA integrity_check; SELECT group_concat(a) FROM (SELECT a FROM t ORDER BY id)"
                let text = storeCopy.method == .described ? "" : try copied(directory, query)
                copies.append((storeCopy, text))
                for name in try FileManager.default.contentsOfDirectory(atPath: directory)
                where name.hasPrefix("copy") {
                    try FileManager.default.removeItem(atPath: "\(directory)/\(name)")
                }
            } catch {
                Issue.record(error)
            }
        }
    }

    private func withCopier(
        _ path: String, _ mode: String, _ body: (ApplicationHandle, Copier) throws -> Void
    ) throws {
        try withTemporaryDirectory { directory in
            let application = try ApplicationHandle(path.isEmpty ? "\(directory)/shop.sqlite" : path)
            try application.run(
                """
                PRAGMA journal_mode = \(mode); CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, b);
                CREATE INDEX i ON t(b, a); INSERT INTO t(a) VALUES (1), (2)
                """)
            try body(application, Copier(application, in: directory))
        }
    }

    @Test(arguments: [("", "wal"), ("", "delete"), ("", "off"), (":memory:", "memory")])
    func aCopyBetweenTwoStepsOfAStatementIsSound(path: String, mode: String) throws {
        try withCopier(path, mode) { application, copier in
            sqlite3_progress_handler(
                application.handle, 1,
                { context in
                    Copier.copies(context)
                    return 0
                }, copier.context)
            try application.run("INSERT INTO t(a) VALUES (3), (4)")
            sqlite3_progress_handler(application.handle, 0, nil, nil)

            let cached = copier.copies.filter { $0.0.method == .pageCache }
            #expect(Set(cached.map(\.1)) == ["ok\n1,2", "ok\n1,2,3", "ok\n1,2,3,4"])
            #expect(copier.copies.allSatisfy { $0.1.hasPrefix("ok\n1,2") })
            #expect(try application.value("PRAGMA integrity_check") == "ok")
        }
    }

    /// SQLite writes the entries of a new row to the indexes first.
    @Test(arguments: [("", "wal"), ("", "delete"), ("", "off"), (":memory:", "memory")])
    func aCopyWithoutTheRowOfAnIndexEntryIsNotKept(path: String, mode: String) throws {
        // Not all builds of SQLite have it, and no header declares it.
        typealias Callback =
            @convention(c) (
                UnsafeMutableRawPointer?, OpaquePointer?, Int32, UnsafePointer<CChar>?,
                UnsafePointer<CChar>?,
                Int64, Int64
            ) -> Void
        typealias Setter =
            @convention(c) (
                OpaquePointer?, Callback?, UnsafeMutableRawPointer?
            ) -> UnsafeMutableRawPointer?
        guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "sqlite3_preupdate_hook") else { return }
        let setHook = unsafeBitCast(symbol, to: Setter.self)
        try withCopier(path, mode) { application, copier in
            let copies: Callback = { context, _, _, _, _, _, _ in Copier.copies(context) }
            _ = setHook(application.handle, copies, copier.context)
            try application.run("INSERT INTO t(a) VALUES (3), (4)")
            _ = setHook(application.handle, nil, nil)

            #expect(copier.copies.map(\.1) == ["ok\n1,2", "ok\n1,2"])
            for (storeCopy, _) in copier.copies {
                #expect(storeCopy.method == (path.isEmpty ? .fileCopy : .recorded))
                #expect(storeCopy.warnings.contains { $0.text.contains("indexes") })
            }
        }
    }

    // MARK: Full caches

    /// Fails inside a statement that has changed more pages than the cache holds.
    private func captureSpilled(
        _ directory: String, _ path: String, mode: String, resetsCounter: Bool = false,
        committed: Int = 0
    ) throws -> StoreCopy {
        let application = try ApplicationHandle(path)
        try application.fill()
        try application.run("PRAGMA journal_mode = \(mode); PRAGMA cache_size = 5")
        for _ in 0..<committed { try application.run("UPDATE big SET a = randomblob(500)") }
        var statement: OpaquePointer?
        sqlite3_prepare_v2(
            application.handle, "UPDATE big SET a = 'changed' || randomblob(500) RETURNING id", -1,
            &statement,
            nil)
        #expect(sqlite3_step(statement) == SQLITE_ROW)
        defer { sqlite3_finalize(statement) }
        var (spilled, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(
            application.handle, SQLITE_DBSTATUS_CACHE_SPILL, &spilled, &highest, resetsCounter ? 1 : 0)
        #expect(spilled > 0)
        return capture(try application.store, in: directory, timeLimit: 0.3)
    }

    @Test func aTemporaryStoreIsReadFromItsFile() throws {
        try withTemporaryDirectory { directory in
            let storeCopy = try captureSpilled(directory, "", mode: "delete")
            #expect(storeCopy.method == .pageCache)
            #expect(try copied(directory, untouched) == "400|0")
        }
    }

    /// The cache lacks pages of the transaction, which are in the WAL.
    @Test(arguments: [false, true], [0, 3])
    func aTransactionIsReadFromItsWAL(resetsCounter: Bool, committed: Int) throws {
        try withTemporaryDirectory { directory in
            let storeCopy = try captureSpilled(
                directory, directory + "/shop.sqlite", mode: "wal", resetsCounter: resetsCounter,
                committed: committed)
            #expect(storeCopy.method == .pageCache && storeCopy.isConsistent)
            #expect(storeCopy.warningCodes == [])
            #expect(try copied(directory, untouched) == "400|0")
        }
    }

    /// The index of the WAL still lists the pages of a rolled-back transaction if no commit preceded it.
    @Test(arguments: [false, true])
    func pagesOfARolledBackTransactionInTheWALAreNotRead(isCommittedBefore: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let earlier = try ApplicationHandle(path)
            try earlier.fill()
            try earlier.run("PRAGMA journal_mode = wal")
            earlier.close()
            let application = try ApplicationHandle(path)
            if isCommittedBefore { try application.run("CREATE TABLE t(a)") }
            try application.run(
                """
                PRAGMA cache_size = 5; BEGIN; UPDATE big SET a = 'changed' || randomblob(500); ROLLBACK;
                BEGIN; DELETE FROM big WHERE id = 1
                """)
            let storeCopy = capture(try application.store, in: directory)
            // SQLite's counter of spilled pages doesn't tell which transaction spilled them.
            #expect(storeCopy.method == (isCommittedBefore ? .pageCache : .fileCopy))
            #expect(storeCopy.isConsistent && storeCopy.warnings.isEmpty == isCommittedBefore)
            #expect(try copied(directory, untouched) == (isCommittedBefore ? "399|399" : "400|400"))
        }
    }

    // MARK: Recorded states

    /// The cache of a backup's target has pages of two databases.
    @Test func ofATargetOfABackupTheRecordedStateIsCopied() throws {
        try withTemporaryDirectory { directory in
            let application = try ApplicationHandle(":memory:")
            try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            let source = try ApplicationHandle(":memory:")
            try source.fill()
            let backup = sqlite3_backup_init(application.handle, "main", source.handle, "main")
            #expect(sqlite3_backup_step(backup, 1) == SQLITE_OK)

            let storeCopy = capture(try application.store, in: directory)

            #expect(storeCopy.method == .recorded && storeCopy.isConsistent)
            #expect(storeCopy.warningCodes == [.uncommittedChangesMissing])
            #expect(try copied(directory) == "1")
            #expect(storeCopy.history?.transactions == 2)
            #expect(sqlite3_backup_step(backup, -1) == SQLITE_DONE)
            #expect(sqlite3_backup_finish(backup) == SQLITE_OK)
        }
    }
}

// MARK: - Non-interference

extension ProcessWideTests {
    /// Other tests would read the stores at the same time.
    @Suite struct ReadCacheTests {
        init() { ConnectionRegistry.shared.install() }

        /// The pages that SQLite finds in its cache, reads, writes and drops are the same if the cache is read in between.
        @Test(arguments: ["delete", "wal", "off"], [8, 15, 30, 100, 2000])
        func theCacheBehavesAsIfItWereNotRead(mode: String, size: Int) throws {
            try withTemporaryDirectory { directory in
                let applications = try ["read", "plain"].map {
                    try ApplicationHandle("\(directory)/\($0).sqlite")
                }
                let record = try applications[0].discovered.record
                var random = SplitMix(seed: UInt64(size))
                let statements = (0..<400).map { _ in RecordedStatesTests.statement(&random) }
                let start = [
                    "PRAGMA journal_mode = \(mode)", "PRAGMA cache_size = \(size)",
                    "PRAGMA synchronous = off", "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INT)",
                    "CREATE INDEX i ON t(b)",
                    "CREATE TABLE u(x REFERENCES t(id) ON DELETE CASCADE, y BLOB)",
                ]
                var read = 0
                for sql in start + statements {
                    #expect(
                        applications[0].failure(of: sql) == applications[1].failure(of: sql), "\(sql)")
                    if PageCacheTests.Pages(of: record) != nil { read += 1 }
                    let counters = applications.map(RecordedCacheTests.counters)
                    try #require(counters[0] == counters[1], "\(sql)")
                }
                // A small cache spills soon.
                #expect(read > 0 || mode == "wal")
            }
        }
    }
}

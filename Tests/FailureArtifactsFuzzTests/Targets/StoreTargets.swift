@testable internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import Foundation

/// Looks at a copy as `show` does.
private func inspect(_ path: String) throws {
    let json = """
        {"name":"a","storage":"file","bytes":{},
        "capture":{"method":"fileCopy","consistent":true,"duration":0,"checkpoint":"none"}}
        """
    let store = try JSONDecoder().decode(BundleMetadata.Store.self, from: Data(json.utf8))
    _ = store.inspected(copyAt: path)
}

extension FuzzTarget {
    /// Reads a history file, together with its copy.
    static let history = FuzzTarget("history", seeds: { [try Seeds.store().history] }) {
        bytes, scratch in
        let copy = try scratch.write(try Seeds.store().committed, to: "copy")
        let reader = try HistoryReader(path: try scratch.write(bytes, to: "history"))
        let count = reader.transactions.count
        for state in 0...min(count, 8) {
            let path = scratch.path("state")
            try? FileSystem.remove(path)
            do {
                try reader.rebuild(at: state, from: copy, to: path)
            } catch {
                continue
            }
            Self.requireSize(path)
            try inspect(path)
            guard state < count else { break }
            let next = scratch.path("next")
            try? FileSystem.remove(next)
            do {
                try FileSystem.copy(path, toNewFile: next)
                try reader.advance(next, from: state)
                Self.requireSize(next)
                try Self.compare(path, next, pages: Set(reader.transactions[state].pages))
            } catch {
                continue
            }
        }
    }

    /// Counts the changes between two states.
    private static func compare(_ old: String, _ new: String, pages: Set<UInt32>? = nil) throws {
        let comparison = try StoreComparison(
            a: .init(path: old, isPrivate: true), b: .init(path: new, isPrivate: true))
        var trees: ChangedRows.Trees?
        let changed = pages.map { comparison.changedRows(pages: $0, &trees) }
        _ = try comparison.changes(changed, rowLimit: 0)
    }

    /// SQLite and other readers go by a file's size, however few bytes it occupies on disk.
    private static func requireSize(_ path: String) {
        let size = FileSystem.regularFile(path)?.size ?? 0
        require(size <= 64 << 20, "A state of a small history has \(size) bytes.")
    }

    /// Reads a WAL.
    ///
    /// Its checksums are corrected first, because little of it would be read otherwise.
    static let log = FuzzTarget("wal", seeds: { [try Seeds.store().log] }) { bytes, scratch in
        var bytes = bytes
        // The first byte belongs to the seed only. If it is odd, the checksums stay as they are.
        if bytes.first.map({ $0 & 1 == 0 }) ?? false { Seeds.repairLog(&bytes) }
        bytes = Array(bytes.dropFirst())
        let wal = try scratch.write(bytes, to: "database-wal")
        let log = try WriteAheadLog(reading: try File(reading: wal))
        let database = try scratch.write(try Seeds.store().database, to: "database")
        let index = try scratch.write(Seeds.index(of: bytes, frames: log.pages.count), to: "index")
        let pages = UInt64(log.transactions.last?.databaseSize ?? 1)
        let target = scratch.path("history")
        let summary = try WALHistory(maximumBytes: 8 << 20, timeLimit: 2).record(
            database: try File(reading: database), wal: try File(reading: wal),
            index: WriteAheadLogIndex(ofFile: index), committedPages: pages, to: target)
        guard summary.transactions > 0 else { return }
        let reader = try HistoryReader(path: target)
        require(reader.transactions.count == summary.transactions, "Not all that was recorded is read.")
        _ = try reader.rebuild(
            at: 0, from: try scratch.write(try Seeds.store().committed, to: "copy"),
            to: scratch.path("state"))
    }

    /// Reads a database file, beside a valid one.
    static let store = FuzzTarget("store", seeds: { try Seeds.databases() }) { bytes, scratch in
        try look(
            at: try scratch.write(bytes, to: "b.sqlite"),
            beside: try scratch.write(try Seeds.databases()[0], to: "a.sqlite"), scratch)
    }

    /// Runs SQL that creates a store, and reads the store, beside a valid one.
    static let schema = FuzzTarget("schema", seeds: { Seeds.schemas }) { bytes, scratch in
        let sql = String(decoding: bytes, as: UTF8.self)
        let forbidden = ["attach", "vacuum", "load_ext", "temp_store", "fts3_tok"]
        let lower = sql.lowercased()
        guard !forbidden.contains(where: lower.contains), !bytes.contains(0) else { return }
        let path = scratch.path("b.sqlite")
        do {
            let connection = try Connection(path: path, mode: .create)
            connection.setDeadline(Instant.now.advanced(bySeconds: 0.2))
            try connection.execute(sql)
        } catch {
            // The statements before the error have taken effect.
        }
        try look(at: path, beside: try scratch.write(try Seeds.databases()[0], to: "a.sqlite"), scratch)
    }

    private static func look(at path: String, beside other: String, _ scratch: Scratch) throws {
        try inspect(path)
        _ = StoreIntegrity.check(storeAt: path)
        for (a, b) in [(other, path), (path, other), (path, path)] {
            let deadline = Instant.now.advanced(bySeconds: 0.3)
            do {
                let comparison = try StoreComparison(
                    a: StoreComparison.Side(path: a, isPrivate: true),
                    b: StoreComparison.Side(path: b, isPrivate: true), deadline: deadline)
                let changes = comparison.schemaChanges()
                require(a != b || changes.isEmpty, "A store is not like itself.")
                for table in try comparison.tables() {
                    let counts = try comparison.forEachRowChange(in: table, limit: 100) { _ in }
                    require(
                        a != b || counts.total == 0 || StoreIntegrity.check(storeAt: path) != .good,
                        "'\(table.name)' of a good store is not like itself.")
                }
            } catch {
                continue
            }
            try? compare(a, b, pages: [1, 2, 3])
            try? compare(a, b)
        }
    }
}

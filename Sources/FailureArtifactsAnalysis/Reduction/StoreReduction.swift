package import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The search for the smallest store for which a check still holds.
///
/// It removes rows, then simplifies values, then drops unused parts of the schema, until nothing more can be left out.
/// Each candidate is a copy of the smallest store so far with one change, and satisfies the constraints that the store
/// satisfies: rows that are referred to stay, and SQLite enforces the other constraints.
package final class StoreReduction {
    /// Returns true if the check holds for the store at a path; it may change the store.
    package typealias Check = (_ path: String) throws -> Bool

    package struct Options {
        /// True to keep all tables, indexes, views and triggers.
        package var keepsSchema = false
        /// The maximum number of times that the check is run; nil for no limit.
        package var maximumRuns: Int?

        package init() {}
    }

    package enum End: String, Encodable, Sendable {
        /// The search tried everything.
        case complete
        case runLimit = "run-limit"
        case timeLimit = "time-limit"
        case interrupted
    }

    package struct Size: Equatable, Sendable {
        /// The numbers of rows by table, without tables that a library uses for itself.
        package var rows: [String: Int]
        package var bytes: UInt64

        package var rowCount: Int { rows.values.reduce(0, +) }
    }

    /// The end of the search before all is tried.
    private struct Stop: Error {
        let end: End
    }

    private let options: Options
    private let limits: UntrustedLimits
    /// The path of the smallest store so far for which the check holds.
    package private(set) var best: String
    package private(set) var runs = 0
    package var isInterrupted: () -> Bool = { false }
    private let check: Check
    private let scratch: String
    private let budget: TimeBudget
    private var copies = 0
    private let original: String

    /// Creates a reduction of a stand-alone database that nothing else uses, and that stays unchanged; the time limit
    /// applies to the whole reduction, without commands.
    package init(
        of path: String, scratch: String, limits: UntrustedLimits, options: Options = Options(),
        check: @escaping Check
    ) {
        original = path
        best = path
        self.scratch = scratch
        self.limits = limits
        self.options = options
        self.check = check
        budget = TimeBudget(limits)
    }

    /// Runs the check for the smallest store so far, and returns the number of runs in which it held.
    package func confirm(times: Int) throws -> Int {
        var count = 0
        for _ in 0..<times {
            let copy = try newCopy()
            defer { Self.remove(copy) }
            runs += 1
            if try check(copy) { count += 1 }
        }
        return count
    }

    /// Reduces the store, for which the check must hold; ``best`` is the smallest store.
    package func run() throws -> End {
        var end = End.complete
        do {
            var last = (rows: Int.max, bytes: UInt64.max)
            // Simpler values can make rows and tables unnecessary, and fewer tables need fewer rows.
            while true {
                try reduceRows()
                try reduceValues()
                if !options.keepsSchema { try reduceSchema() }
                try compact()
                let size = try Self.size(of: best, limits: limits)
                // The second round of a check that takes long rarely finds more.
                guard options.maximumRuns == nil, size.rowCount < last.rows || size.bytes < last.bytes
                else { break }
                last = (size.rowCount, size.bytes)
            }
        } catch let stop as Stop {
            end = stop.end
            try compact()
        } catch let error as SQLiteError where error.isInterrupted {
            end = .timeLimit
            try compact()
        }
        return end
    }

    /// Runs statements that leave something out, as far as the check doesn't need it.
    private func leaveOut(_ statements: [String]) throws {
        _ = try minimized(Array(statements.indices)) { needed in
            try accept { connection throws(SQLiteError) in
                for index in statements.indices where !needed.contains(index) {
                    try connection.execute(statements[index])
                }
            }
        }
    }

    /// Makes a changed copy of the smallest store so far, and replaces the latter if the check holds for the copy.
    private func accept(
        _ change: (borrowing Connection) throws(SQLiteError) -> Void
    ) throws -> Bool {
        if isInterrupted() { throw Stop(end: .interrupted) }
        if budget.isUsedUp { throw Stop(end: .timeLimit) }
        let candidate = try newCopy()
        var isBetter = false
        defer { if !isBetter { Self.remove(candidate) } }
        do throws(SQLiteError) {
            let connection = try Connection.untrustedForWriting(candidate, limits: budget.remaining())
            try change(connection)
            try FullTextTables.rebuild(in: connection)
        } catch {
            if error.isInterrupted { throw Stop(end: .timeLimit) }
            return false
        }
        // A run is left for the final store.
        if let maximum = options.maximumRuns, runs + 1 >= maximum { throw Stop(end: .runLimit) }
        let copy = try newCopy(of: candidate)
        defer { Self.remove(copy) }
        runs += 1
        do {
            isBetter = try check(copy)
        } catch let error as SQLiteError where !error.isInterrupted {
            // A query that names something that was dropped, for example, returns no row.
        }
        // The signal may be the reason why a command failed.
        if isInterrupted() {
            isBetter = false
            throw Stop(end: .interrupted)
        }
        if isBetter { replaceBest(by: candidate) }
        return isBetter
    }

    /// Writes the smallest store anew, without the content of free pages.
    private func compact() throws {
        let copy = try newCopy()
        let connection = try Connection.untrustedForWriting(copy, limits: limits)
        try FullTextTables.rebuild(in: connection)
        try connection.execute("VACUUM")
        replaceBest(by: copy)
    }

    private func replaceBest(by path: String) {
        if best != original { Self.remove(best) }
        best = path
    }

    private func newCopy(of path: String? = nil) throws -> String {
        copies += 1
        let copy = Path.join(scratch, "reduced-\(copies).sqlite")
        try FileSystem.copy(path ?? best, toNewFile: copy)
        return copy
    }

    private static func remove(_ path: String) {
        for suffix in ["", "-journal", "-wal", "-shm"] { try? FileSystem.remove(path + suffix) }
    }

    package static func size(of path: String, limits: UntrustedLimits) throws -> Size {
        let connection = try Connection.untrusted(path, limits: limits)
        let schema = try DatabaseSchema("main", of: connection)
        var rows: [String: Int] = [:]
        for table in ReducibleRows.shapes(in: schema, of: connection) {
            let count = "SELECT count(*) FROM \(quotedIdentifier(table.name))"
            rows[table.name] = Int(try connection.integer(of: count))
        }
        return Size(rows: rows, bytes: FileSystem.regularFile(path)?.size ?? 0)
    }

    // MARK: - Rows

    private func reduceRows() throws {
        let connection = try Connection.untrusted(best, limits: budget.remaining())
        let rows = try ReducibleRows(DatabaseSchema("main", of: connection), of: connection)
        var current = rows.all
        _ = try minimized(Array(0..<rows.count)) { wanted in
            let kept = rows.closure(of: wanted)
            if kept == current { return true }
            guard
                try accept({ connection throws(SQLiteError) in
                    try rows.delete(from: connection, keeping: kept, of: current)
                })
            else { return false }
            current = kept
            return true
        }
    }

    // MARK: - Values

    /// Replaces the values of columns by NULL, or else by empty texts and BLOBs.
    private func reduceValues() throws {
        let connection = try Connection.untrusted(best, limits: budget.remaining())
        let rows = try ReducibleRows(DatabaseSchema("main", of: connection), of: connection)
        let updates = rows.tables.sorted { $0.key < $1.key }.flatMap { name, table in
            table.shape.writableColumns.filter { column in
                column.keyPosition == 0 && rows.referenced[name]?.contains(folded(column.name)) != true
            }.map { column in
                let name = quotedIdentifier(column.name)
                let empty =
                    "CASE typeof(\(name)) WHEN 'text' THEN '' WHEN 'blob' THEN x'' ELSE \(name) END"
                // Constraints may forbid the value in some of the rows.
                return
                    "UPDATE OR IGNORE \(table.name) SET \(name) = \(column.isNotNull ? empty : "NULL")"
            }
        }
        try leaveOut(updates)
    }

    // MARK: - Schema

    /// Drops the indexes, views, triggers and empty tables that the check doesn't need.
    private func reduceSchema() throws {
        let original = try Connection.untrusted(best, limits: budget.remaining())
        let schema = try DatabaseSchema("main", of: original)
        var drops: [String] = []
        // Each object is dropped before what it uses. With a table, its indexes and triggers are dropped.
        for type in ["trigger", "view", "index", "table"] {
            for object in schema.objects where object.type == type {
                let (folded, name) = (folded(object.name), quotedIdentifier(object.name))
                guard !folded.hasPrefix("sqlite_"), !LibraryTables.contains(folded) else {
                    continue
                }
                if type == "table" {
                    guard let shape = schema.tables[folded], !shape.isShadow else { continue }
                    let hasRow = "SELECT EXISTS (SELECT 1 FROM \(name))"
                    if shape.kind != .virtual, try original.integer(of: hasRow) != 0 { continue }
                }
                drops.append("DROP \(type) IF EXISTS \(name)")
            }
        }
        try leaveOut(drops)
    }
}

/// Returns a small part of a list that is still enough, as all items together are.
///
/// It finds one needed item after the other: the last item of the shortest prefix that is enough together with the
/// needed items. With k needed items among n, the predicate is called about k · (1 + log₂ n) times. If adding items
/// never makes a sufficient part insufficient, none of the returned items can be left out. The algorithm is a simpler
/// relative of delta debugging (Zeller and Hildebrandt, 2002) and of QuickXplain (Junker, 2004). Of several sufficient
/// parts, one with early items is found. The items of the last call that returned true include those of all later
/// calls, in no particular order.
func minimized<Item>(_ items: [Item], by isEnough: ([Item]) throws -> Bool) rethrows -> [Item] {
    var needed: [Item] = []
    var rest = items[...]
    while !rest.isEmpty, try !isEnough(needed) {
        // `low` items aren't enough, and `high` items are.
        var (low, high) = (0, rest.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if try isEnough(needed + rest.prefix(middle)) { high = middle } else { low = middle }
        }
        rest = rest.prefix(high)
        needed.append(rest.removeLast())
    }
    return needed
}

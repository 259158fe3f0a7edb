internal import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The search for the smallest store for which a check still holds.
///
/// It removes rows, then simplifies values, then drops unused parts of the schema, until nothing more can be left out.
/// Each candidate is a copy of the smallest store so far with one change, and satisfies the constraints that the store
/// satisfies: rows that are referred to stay, and SQLite enforces the other constraints.
package final class StoreReduction {
    /// Returns true if the check holds for the store at a path.
    ///
    /// It may change the store.
    package typealias Check = (_ path: String) throws -> Bool

    package struct Options {
        /// True to keep all tables, indexes, views and triggers.
        package var keepsSchema = false
        /// The maximum number of times that the check is run; nil for no limit.
        package var maximumRuns: Int?

        package init() {}
    }

    /// The reason why the search ended.
    package enum End: String, Encodable, Sendable {
        /// The search tried everything.
        case complete
        case runLimit = "run-limit"
        case timeLimit = "time-limit"
        case interrupted
    }

    /// The size of a store.
    package struct Size: Equatable, Sendable {
        /// The numbers of rows by table, without tables that a library uses for itself.
        package var rows: [String: Int]
        package var bytes: UInt64

        package var rowCount: Int { rows.values.reduce(0, +) }
    }

    /// The end of the search before all is tried.
    struct Stop: Error {
        let end: End
    }

    let options: Options
    let limits: UntrustedLimits
    /// The path of the smallest store so far for which the check holds.
    package private(set) var best: String
    /// The number of times that the check was run.
    package private(set) var runs = 0
    /// A closure that receives the number of rows that are left and the number of runs, after each run.
    package var onProgress: (_ rows: Int, _ runs: Int) -> Void = { _, _ in }
    /// Returns true if the search has to end.
    package var isInterrupted: () -> Bool = { false }
    private let check: Check
    private let scratch: String
    private let budget: TimeBudget
    private var remainingRows = 0

    /// Creates a reduction.
    ///
    /// - Parameters:
    ///   - path: A stand-alone database that nothing else uses. It stays unchanged.
    ///   - scratch: A directory for candidates.
    ///   - limits: The resource limits. The time limit applies to the whole reduction, without commands.
    ///   - options: The options.
    ///   - check: The check.
    package init(
        of path: String, scratch: String, limits: UntrustedLimits, options: Options = Options(),
        check: @escaping Check
    ) {
        best = path
        self.scratch = scratch
        self.limits = limits
        self.options = options
        self.check = check
        budget = TimeBudget(limits)
    }

    // MARK: - Checks

    /// Runs the check for the smallest store so far.
    ///
    /// - Parameter times: The number of runs.
    /// - Returns: The number of runs in which the check held.
    /// - Throws: An error of the check.
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

    /// Reduces the store.
    ///
    /// The check must hold for it.
    ///
    /// - Returns: The reason why the search ended. ``best`` is the smallest store.
    /// - Throws: An error of the check or the store.
    package func run() throws -> End {
        do {
            var bytes: UInt64 = .max
            // Simpler values can make rows and tables unnecessary, and fewer tables need fewer rows.
            while true {
                try reduceRows()
                try compact()
                try reduceValues()
                if !options.keepsSchema { try reduceSchema() }
                try compact()
                let size = FileSystem.regularFile(best)?.size ?? 0
                let rows = try Self.size(of: best, limits: limits).rowCount
                guard rows < remainingRows || size < bytes else { return .complete }
                (remainingRows, bytes) = (rows, size)
                // The second round of a check that takes long rarely finds more.
                if options.maximumRuns != nil { return .complete }
            }
        } catch let stop as Stop {
            try compact()
            return stop.end
        }
    }

    /// Makes a changed copy of the smallest store so far, and replaces the latter if the check holds for the copy.
    ///
    /// - Parameters:
    ///   - isSound: Returns false if the copy, at a path, isn't a store that an application could have made.
    ///   - change: Changes the copy. An error of SQLite means that the store can't be changed in this way.
    /// - Returns: True if the check holds.
    /// - Throws: ``Stop``, or an error of the check.
    func accept(
        isSound: (_ path: String) throws -> Bool = { _ in true },
        _ change: (borrowing Connection) throws(SQLiteError) -> Void
    ) throws -> Bool {
        if isInterrupted() { throw Stop(end: .interrupted) }
        if budget.isUsedUp { throw Stop(end: .timeLimit) }
        let candidate = try newCopy()
        var isBetter = false
        defer { if !isBetter { Self.remove(candidate) } }
        do throws(SQLiteError) {
            let connection = try Connection.untrustedForWriting(candidate, limits: budget.remaining())
            try connection.execute("BEGIN")
            try change(connection)
            try Self.rebuildTextIndexes(in: connection)
            try connection.execute("COMMIT")
        } catch {
            if error.isInterrupted { throw Stop(end: .timeLimit) }
            return false
        }
        guard try isSound(candidate) else { return false }
        // A run is left for the final store.
        if let maximum = options.maximumRuns, runs + 1 >= maximum { throw Stop(end: .runLimit) }
        let copy = try newCopy(of: candidate)
        defer { Self.remove(copy) }
        runs += 1
        do {
            isBetter = try check(copy)
        } catch let error as SQLiteError {
            // A query that names something that was dropped, for example, returns no row.
            if error.isInterrupted { throw Stop(end: .timeLimit) }
            isBetter = false
        }
        // The signal may be the reason why a command failed.
        if isInterrupted() {
            isBetter = false
            throw Stop(end: .interrupted)
        }
        if isBetter { replaceBest(by: candidate) }
        onProgress(remainingRows, runs)
        return isBetter
    }

    /// Leaves out the parts of the store that the check doesn't need.
    ///
    /// - Parameters:
    ///   - count: The number of parts.
    ///   - isSound: See ``accept(isSound:_:)``.
    ///   - leaveOut: Leaves out the parts with the given indices, in ascending order.
    /// - Returns: The indices of the parts that are needed.
    /// - Throws: ``Stop``, or an error of the check.
    func leaveOutParts(
        of count: Int, isSound: (_ path: String) throws -> Bool = { _ in true },
        _ leaveOut: (borrowing Connection, [Int]) throws(SQLiteError) -> Void
    ) throws -> [Int] {
        var kept = Set(0..<count)
        return try minimized(Array(0..<count)) { needed in
            let wanted = Set(needed)
            if wanted == kept { return true }
            let removed = kept.subtracting(wanted).sorted()
            let isAccepted = try accept(isSound: isSound) { connection throws(SQLiteError) in
                try leaveOut(connection, removed)
            }
            if isAccepted { kept = wanted }
            return isAccepted
        }
    }

    /// Rebuilds the full-text indexes of other tables.
    static func rebuildTextIndexes(in connection: borrowing Connection) throws(SQLiteError) {
        for table in try FullTextTable.all(in: connection) where table.content == .external {
            try table.rebuild(in: connection)
        }
    }

    /// Writes the smallest store anew, without the content of free pages.
    private func compact() throws {
        let copy = try newCopy()
        do {
            let connection = try Connection.untrustedForWriting(copy, limits: limits)
            for table in try FullTextTable.withOwnTexts(in: connection) {
                try table.rebuild(in: connection)
            }
            try connection.vacuumUntrusted()
        } catch {
            Self.remove(copy)
            throw error
        }
        replaceBest(by: copy)
    }

    /// Runs `body` with a connection to a copy of the smallest store, which is thrown away.
    ///
    /// - Returns: False if SQLite failed.
    func withCopy(_ body: (borrowing Connection) throws(SQLiteError) -> Void) throws -> Bool {
        let copy = try newCopy()
        defer { Self.remove(copy) }
        do throws(SQLiteError) {
            let connection = try Connection.untrustedForWriting(copy, limits: budget.remaining())
            try body(connection)
            return true
        } catch {
            if error.isInterrupted { throw Stop(end: .timeLimit) }
            return false
        }
    }

    private var copies = 0
    private var ownsBest = false

    private func replaceBest(by path: String) {
        if ownsBest { Self.remove(best) }
        ownsBest = true
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

    // MARK: - Rows

    private func reduceRows() throws {
        let rows: ReducibleRows
        do throws(SQLiteError) {
            let connection = try Connection.untrusted(best, limits: budget.remaining())
            rows = try ReducibleRows(DatabaseSchema("main", of: connection), of: connection)
        } catch {
            if error.isInterrupted { throw Stop(end: .timeLimit) }
            throw error
        }
        var current = rows.all
        remainingRows = rows.count
        var insufficient: Set<[Bool]> = []
        func isEnough(_ wanted: some Sequence<Int>) throws -> Bool {
            let kept = rows.closure(of: wanted)
            if kept == current { return true }
            if insufficient.contains(kept) { return false }
            guard
                try accept({ connection throws(SQLiteError) in
                    try rows.delete(from: connection, keeping: kept, of: current)
                })
            else {
                // Large sets rarely occur twice.
                if rows.count <= 100_000 { insufficient.insert(kept) }
                return false
            }
            current = kept
            remainingRows = kept.count { $0 }
            return true
        }
        _ = try minimized(Array(rows.tables.indices)) { tables in
            try isEnough(tables.flatMap { rows.tables[$0].rows })
        }
        _ = try minimized(current.indices.filter { current[$0] }, by: isEnough)
        // Rows can make each other necessary.
        guard options.maximumRuns == nil, remainingRows <= 50 else { return }
        for row in current.indices.reversed() where current[row] {
            let others = current.indices.filter { current[$0] && $0 != row }
            if rows.closure(of: others)[row] { continue }
            _ = try isEnough(others)
        }
    }

    /// Returns the size of a store.
    ///
    /// - Parameters:
    ///   - path: A store that nothing else uses.
    ///   - limits: The resource limits.
    /// - Returns: The size.
    /// - Throws: An error if the store can't be read.
    package static func size(of path: String, limits: UntrustedLimits) throws -> Size {
        let connection = try Connection.untrusted(path, limits: limits)
        let schema = try DatabaseSchema("main", of: connection)
        var rows: [String: Int] = [:]
        let names =
            schema.applicationTables.map(\.name).filter { !ReducibleRows.isBookkeeping($0) }
            + (try FullTextTable.withOwnTexts(in: connection).map(\.name))
        for name in names {
            rows[name] = Int(
                try connection.integer(of: "SELECT count(*) FROM \(quotedIdentifier(name))"))
        }
        return Size(rows: rows, bytes: FileSystem.regularFile(path)?.size ?? 0)
    }
}

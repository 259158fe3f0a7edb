internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The differences between a passing and a failing run of a test, without values that differ in every run.
struct StoreDifferences {
    /// A changed row without values that differ in every run.
    struct Row: Comparable {
        let finding: Finding.Row
        /// A text that is the same for the same change in another run.
        fileprivate let identity: String
        /// The table and the key in this run.
        fileprivate var key: String { "\(folded(finding.table)) \(finding.key.map(\.value.content))" }

        static func < (a: Row, b: Row) -> Bool { a.identity < b.identity }
        static func == (a: Row, b: Row) -> Bool { a.identity == b.identity }
    }

    /// The rows that turn the passing run's store into the failing run's.
    let changes: [Row]
    /// The columns that differ in all common rows by values that don't look like times or generated ones.
    ///
    /// Each table's rows have only these columns. Generated values can differ in all rows, too, so it's a weak sign.
    let wholeColumns: [(table: String, rows: [Row])]
    private let varying: VaryingValues
    /// The tables of which ``changes`` has only some rows, in lower case.
    private let incompleteTables: Set<String>

    /// Compares the stores at the end of both runs.
    ///
    /// - Parameters:
    ///   - passing: The passing run's store.
    ///   - failing: The failing run's store.
    ///   - times: The times of the captures, in the form of the metadata.
    /// - Throws: An error if the stores can't be compared.
    init(from passing: StoreEvidence, to failing: StoreEvidence, at times: [String]) throws {
        let comparison = try StoreComparison(
            a: .init(path: passing.path, isPrivate: true), b: .init(path: failing.path, isPrivate: true))
        var tables: [ChangedTable] = []
        var changes = StateChanges()
        try changes.add(comparison) { comparison, table in
            var rows: [RowChange] = []
            let counts = try comparison.forEachRowChange(
                in: table, limit: StoreEvidence.rowLimit, valueLimit: 256
            ) { rows.append($0) }
            if counts.total > 0, !MigrationTables.contains(table.name) {
                tables.append(ChangedTable(table: table, rows: rows, counts: counts))
            }
            return counts
        }
        var varying = VaryingValues(times)
        var wholeColumns: [(table: String, rows: [Row])] = []
        for table in tables where table.table.presence == .both {
            let name = table.table.name
            let all = try passing.count("SELECT count(*) FROM \(quotedIdentifier(name))")
            let matched = all - table.counts.deleted
            for column in table.table.commonColumns {
                let differing = table.rows.count { $0.kind == .updated && $0.cell(column) != nil }
                if matched > 1, differing == matched { varying.columns.insert(Self.key(name, column)) }
            }
            let whole = Set(
                table.table.commonColumns.filter { column in
                    varying.columns.contains(Self.key(name, column)) && !Reference.isName(column)
                        && !table.rows.compactMap { $0.cell(column) }.flatMap { [$0.old, $0.new] }
                            .contains { $0.map(varying.isGenerated) ?? false }
                }.map(folded))
            if !whole.isEmpty {
                let rows = table.rows.filter { $0.kind == .updated }.map { row in
                    Row(
                        finding: StoreEvidence.row(row, in: table, columns: whole),
                        identity: Self.identity(row, in: table, varying))
                }
                wholeColumns.append((name, rows))
            }
            // Without a common key, the keys are generated.
            guard matched == 0, table.counts.deleted > 1, table.counts.inserted > 1 else { continue }
            let keys = table.table.keyColumns.isEmpty ? ["rowid"] : table.table.keyColumns
            varying.columns.formUnion(keys.map { Self.key(name, $0) })
        }
        self.varying = varying
        self.wholeColumns = wholeColumns
        self.changes = Self.changes(of: tables, varying)
        incompleteTables = Set(tables.filter { !$0.isComplete }.map { folded($0.table.name) })
    }

    /// True if ``changes`` has all rows.
    var isComplete: Bool { incompleteTables.isEmpty }

    /// Returns true if the stores at the end of both runs have the same values in these rows.
    func haveSameRows(_ rows: [Row]) -> Bool {
        let keys = Set(rows.map(\.key))
        return rows.allSatisfy { !incompleteTables.contains(folded($0.finding.table)) }
            && !changes.contains { keys.contains($0.key) }
    }

    /// Returns true if only the passing run's store has a row with this key at the end, as far as known.
    func isMissing(_ row: Row) -> Bool {
        changes.contains { $0.finding.change == .deleted && $0.key == row.key }
    }

    /// The maximum number of differing rows of a table in a comparison of two states.
    ///
    /// The rows of a table with generated keys all differ.
    private static let stateRowLimit: Int64 = 5000

    /// Returns true if two states are known to have the same schema and, apart from values that differ in every run,
    /// the same rows.
    ///
    /// - Parameters:
    ///   - passing: The path of a state of the passing run.
    ///   - failing: The path of a state of the failing run.
    ///   - limits: The limits on resources that a state can use.
    /// - Returns: False if they differ, or if rows can't be compared.
    /// - Throws: An error if a file is damaged, or if a limit is exceeded.
    func areEqual(
        _ passing: String, _ failing: String, limits: UntrustedLimits
    ) throws -> Bool {
        let comparison = try StoreComparison(
            a: .init(path: passing, isPrivate: true), b: .init(path: failing, isPrivate: true),
            limits: limits)
        let (changes, tables) = try comparison.changes(rowLimit: Self.stateRowLimit)
        guard changes.schema.isEmpty, changes.userVersion == nil,
            changes.tables.allSatisfy({ $0.problem == nil }), tables.allSatisfy(\.isComplete)
        else { return false }
        let compared = tables.filter { !MigrationTables.contains($0.table.name) }
        return Self.changes(of: compared, varying).isEmpty
    }

    /// Returns the changed rows without those that differ only in values that differ in every run.
    private static func changes(of tables: [ChangedTable], _ varying: VaryingValues) -> [Row] {
        // Rows that differ only in generated keys appear as a deleted and an inserted row.
        var common: [String: Int] = [:]
        let deleted = counts(of: .deleted, in: tables, varying)
        for (identity, count) in counts(of: .inserted, in: tables, varying) {
            common[identity] = min(count, deleted[identity] ?? 0)
        }
        var left: [RowChange.Kind: [String: Int]] = [.deleted: common, .inserted: common]
        var rows: [Row] = []
        for table in tables {
            for row in table.rows {
                let identity = identity(row, in: table, varying)
                if let count = left[row.kind]?[identity], count > 0 {
                    left[row.kind]?[identity] = count - 1
                } else if let row = Self.row(row, in: table, varying) {
                    rows.append(row)
                }
            }
        }
        return rows
    }

    /// Returns changed rows by their identities; equal ones have a number appended.
    func rows(of tables: [ChangedTable]) -> [String: Row] {
        var rows: [String: Row] = [:]
        for table in tables {
            for change in table.rows {
                guard let row = Self.row(change, in: table, varying) else { continue }
                var identity = row.identity
                var number = 2
                while rows[identity] != nil {
                    identity = "\(row.identity) #\(number)"
                    number += 1
                }
                rows[identity] = row
            }
        }
        return rows
    }

    private static func counts(
        of kind: RowChange.Kind, in tables: [ChangedTable], _ varying: VaryingValues
    ) -> [String: Int] {
        var counts: [String: Int] = [:]
        for table in tables {
            for row in table.rows where row.kind == kind {
                counts[identity(row, in: table, varying), default: 0] += 1
            }
        }
        return counts
    }

    private static func key(_ table: String, _ column: String) -> String {
        folded(table) + " " + folded(column)
    }

    /// Returns a row without varying values; nil if no other value of an updated row changed.
    private static func row(
        _ change: RowChange, in table: ChangedTable, _ varying: VaryingValues
    ) -> Row? {
        let cells = change.cells.filter { cell in
            if varying.columns.contains(key(table.table.name, cell.column)) { return false }
            guard change.kind == .updated, let old = cell.old, let new = cell.new else { return true }
            return !(varying.form(of: old) != nil && varying.form(of: old) == varying.form(of: new))
        }
        if change.kind == .updated, cells.isEmpty { return nil }
        let columns = Set(cells.map { folded($0.column) })
        return Row(
            finding: StoreEvidence.row(change, in: table, columns: columns),
            identity: "\(change.kind) " + identity(change, in: table, varying))
    }

    /// Returns a text that is the same for the same row or change in another run.
    private static func identity(
        _ change: RowChange, in table: ChangedTable, _ varying: VaryingValues
    ) -> String {
        func text(_ value: StoredValue) -> String {
            varying.form(of: value).map { "\($0)" } ?? "\(value.content)"
        }
        let names = table.table.keyColumns.isEmpty ? ["rowid"] : table.table.keyColumns
        let name = table.table.name
        let key = zip(names, change.key).filter { !varying.columns.contains(self.key(name, $0.0)) }
            .map { text($0.1) }
        let cells = change.cells.filter { !varying.columns.contains(self.key(name, $0.column)) }
            .map { cell in
                [folded(cell.column)] + [cell.old, cell.new].compactMap { $0.map(text) }
            }
        return "\(folded(name)) \(key) \(cells)"
    }
}

/// The values that differ in every run.
private struct VaryingValues {
    enum Form {
        case uuid, time
    }

    /// The columns whose values differ in all rows, as `table column` in lower case.
    var columns: Set<String> = []
    /// The dates around the runs, as `2026-11-21`.
    private var dates: Set<String> = []
    /// The starts of the days of the runs, in seconds since 1970.
    private var days: [Double] = []

    private static let day: Int64 = 86_400
    /// The seconds from 1970 to 2001, from which Foundation counts.
    private static let referenceDate = 978_307_200.0

    /// Creates the values for runs at certain times.
    init(_ times: [String]) {
        for time in times {
            let parts = time.prefix(10).split(separator: "-").compactMap { Int64($0) }
            guard parts.count == 3 else { continue }
            // Days since 1970, counted in years that begin in March.
            let (year, month) = parts[1] > 2 ? (parts[0], parts[1] - 3) : (parts[0] - 1, parts[1] + 9)
            let leapDays = year / 4 - year / 100 + year / 400
            let number = year * 365 + leapDays + (month * 153 + 2) / 5 + parts[2] - 1 - 719_468
            days.append(Double(number * Self.day))
            // The test may use another time zone, or run over midnight.
            for neighbour in -1...1 {
                let seconds = (number + Int64(neighbour)) * Self.day
                dates.insert(String(Timestamp(seconds: seconds).description.prefix(10)))
            }
        }
    }

    /// Recognizes a UUID, or a point in time around the runs; nil for another value.
    func form(of value: StoredValue) -> Form? {
        switch value.content {
        case .text(let bytes):
            if Self.isUUID(bytes) { return .uuid }
            // A date without a time is the application's.
            guard bytes.count >= 16, bytes.count <= 35, [0x20, 0x54].contains(bytes[10]) else {
                return nil
            }
            return dates.contains(String(decoding: bytes.prefix(10), as: UTF8.self)) ? .time : nil
        case .blob(let bytes): return bytes.count == 16 && !value.isCut ? .uuid : nil
        case .real(let number): return isTime(number) ? .time : nil
        case .integer(let number): return isTime(Double(number)) ? .time : nil
        case .null: return nil
        }
    }

    /// True for a point in time and for a value that is long enough for a random one.
    func isGenerated(_ value: StoredValue) -> Bool {
        if form(of: value) != nil { return true }
        switch value.content {
        case .text(let bytes): return bytes.count >= 8
        case .integer(let number): return number.magnitude >= 1_000_000
        case .real(let number): return abs(number) < 1 && number != 0 || abs(number) >= 1e6
        case .blob: return true
        case .null: return false
        }
    }

    private static func isUUID(_ bytes: [UInt8]) -> Bool {
        bytes.count == 36
            && bytes.indices.allSatisfy { index in
                let byte = bytes[index]
                if [8, 13, 18, 23].contains(index) { return byte == 0x2D }
                return (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte)
                    || (0x61...0x66).contains(byte)
            }
    }

    /// True if the number is a time around the runs, in seconds or smaller units since 1970 or 2001.
    private func isTime(_ number: Double) -> Bool {
        days.contains { start in
            [1, 1e3, 1e6, 1e9].contains { unit in
                [0, Self.referenceDate].contains { epoch in
                    abs(number / unit + epoch - start) < Double(2 * Self.day)
                }
            }
        }
    }
}

internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The differences between a passing and a failing run of a test, without values that differ in every run.
struct StoreDifferences {
    /// A changed row without values that differ in every run.
    struct Row: Comparable {
        let finding: Finding.Row
        /// A text that is the same for the same change in another run.
        fileprivate let identity: String

        static func < (a: Row, b: Row) -> Bool { a.identity < b.identity }
        static func == (a: Row, b: Row) -> Bool { a.identity == b.identity }
    }

    /// The rows that turn the passing run's store into the failing run's.
    let changes: [Row]
    /// The columns whose values differ in all rows, as `table column` in lower case.
    private let varying: Set<String>

    /// Compares the stores at the end of both runs.
    init(from passing: StoreEvidence, to failing: StoreEvidence) throws {
        let comparison = try StoreComparison(
            a: .init(path: passing.path, isPrivate: true), b: .init(path: failing.path, isPrivate: true))
        var tables: [ChangedTable] = []
        var changes = StateChanges()
        try changes.add(comparison) { comparison, table in
            var rows: [RowChange] = []
            let counts = try comparison.forEachRowChange(
                in: table, limit: StoreEvidence.rowLimit, valueLimit: 256
            ) { rows.append($0) }
            if counts.total > 0 {
                tables.append(ChangedTable(table: table, rows: rows, counts: counts))
            }
            return counts
        }
        var varying: Set<String> = []
        for table in tables where table.table.presence == .both {
            let name = table.table.name
            let all = try passing.count("SELECT count(*) FROM \(quotedIdentifier(name))")
            let matched = all - table.counts.deleted
            for column in table.table.commonColumns {
                let differing = table.rows.count { $0.kind == .updated && $0.cell(column) != nil }
                if matched > 1, differing == matched { varying.insert(Self.key(name, column)) }
            }
            // Without a common key, the keys are generated.
            guard matched == 0, table.counts.deleted > 1, table.counts.inserted > 1 else { continue }
            let keys = table.table.keyColumns.isEmpty ? ["rowid"] : table.table.keyColumns
            varying.formUnion(keys.map { Self.key(name, $0) })
        }
        self.varying = varying
        // Rows that differ only in generated keys appear as a deleted and an inserted row.
        var common: [String: Int] = [:]
        let deleted = Self.counts(of: .deleted, in: tables, varying)
        for (identity, count) in Self.counts(of: .inserted, in: tables, varying) {
            common[identity] = min(count, deleted[identity] ?? 0)
        }
        var left: [RowChange.Kind: [String: Int]] = [.deleted: common, .inserted: common]
        var rows: [Row] = []
        for table in tables {
            for row in table.rows {
                let identity = Self.identity(row, in: table, varying)
                if let count = left[row.kind]?[identity], count > 0 {
                    left[row.kind]?[identity] = count - 1
                } else if let row = Self.row(row, in: table, varying) {
                    rows.append(row)
                }
            }
        }
        self.changes = rows
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
        of kind: RowChange.Kind, in tables: [ChangedTable], _ varying: Set<String>
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
        _ change: RowChange, in table: ChangedTable, _ varying: Set<String>
    ) -> Row? {
        let cells = change.cells.filter { cell in
            if varying.contains(key(table.table.name, cell.column)) { return false }
            guard change.kind == .updated, let old = cell.old, let new = cell.new else { return true }
            return !(GeneratedValue(old) != nil && GeneratedValue(old) == GeneratedValue(new))
        }
        if change.kind == .updated, cells.isEmpty { return nil }
        let columns = Set(cells.map { folded($0.column) })
        return Row(
            finding: StoreEvidence.row(change, in: table, columns: columns),
            identity: "\(change.kind) " + identity(change, in: table, varying))
    }

    /// Returns a text that is the same for the same row or change in another run.
    private static func identity(
        _ change: RowChange, in table: ChangedTable, _ varying: Set<String>
    ) -> String {
        func text(_ value: StoredValue) -> String {
            GeneratedValue(value).map { "\($0)" } ?? "\(value.content)"
        }
        let names = table.table.keyColumns.isEmpty ? ["rowid"] : table.table.keyColumns
        let name = table.table.name
        let key = zip(names, change.key).filter { !varying.contains(self.key(name, $0.0)) }
            .map { text($0.1) }
        let cells = change.cells.filter { !varying.contains(self.key(name, $0.column)) }
            .map { cell in
                [folded(cell.column)] + [cell.old, cell.new].compactMap { $0.map(text) }
            }
        return "\(folded(name)) \(key) \(cells)"
    }
}

/// The forms of values that differ in every run.
enum GeneratedValue: Equatable {
    case uuid, time

    /// Recognizes a value; nil if it has another form.
    init?(_ value: StoredValue) {
        switch value.content {
        case .text(let bytes):
            let text = String(decoding: bytes, as: UTF8.self)
            let scalars = Array(text.utf8)
            func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
            func isHexadecimal(_ byte: UInt8) -> Bool {
                isDigit(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
            }
            if scalars.count == 36,
                scalars.indices.allSatisfy({
                    [8, 13, 18, 23].contains($0) ? scalars[$0] == 0x2D : isHexadecimal(scalars[$0])
                })
            {
                self = .uuid
            } else if scalars.count >= 16, scalars.count <= 35, scalars[..<4].allSatisfy(isDigit),
                scalars[4] == 0x2D, scalars[7] == 0x2D, [0x20, 0x54].contains(scalars[10]),
                scalars[13] == 0x3A
            {
                // A date without a time, such as a due date, is the application's.
                self = .time
            } else {
                return nil
            }
        case .blob(let bytes):
            guard bytes.count == 16, !value.isCut else { return nil }
            self = .uuid
        case .real(let number):
            // Seconds of the clock, since 1970 or since 2001, have a fraction.
            guard number.rounded() != number, (500_000_000..<4_000_000_000).contains(number)
            else { return nil }
            self = .time
        case .integer(let number):
            // Milliseconds or smaller units since 1970.
            guard (1_400_000_000_000...).contains(number) else { return nil }
            self = .time
        case .null: return nil
        }
    }
}

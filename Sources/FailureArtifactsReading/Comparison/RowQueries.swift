internal import FailureArtifactsSQLite

/// The SQL that finds the differing rows of one table.
///
/// `a` and `b` are the table in both stores. Each query reads one side once, in storage order, and looks up each row in
/// the other by its key. So nothing has to be sorted or kept in memory.
struct RowQueries: Sendable {
    private let table: ComparedTable

    init(_ table: ComparedTable) { self.table = table }

    // MARK: - Queries

    /// The query for rows of A that are changed or missing in B.
    ///
    /// The first column is true if the row is missing. The rowid, if it is the key, and the columns of A follow. For
    /// each common column there is a Boolean, true if it differs, and the value in B.
    var changedRows: String {
        var columns = [isMissing("b")] + rowidColumn("a") + values(table.columnsOfA, of: "a")
        for column in table.commonColumns {
            columns += [differ([column]), "b." + quotedIdentifier(column)]
        }
        return select(
            columns, .a, where: "\(isMissing("b")) OR \(differ(table.commonColumns))",
            twinHas: table.commonColumns)
    }

    /// The query for rows of B that A doesn't have; its columns are the rowid, if it is the key, and B's columns.
    var insertedRows: String {
        select(
            rowidColumn("b") + values(table.columnsOfB, of: "b"), .b, where: isMissing("a"),
            twinHas: table.keyColumns)
    }

    /// The query for the number of rows of B that A doesn't have.
    var insertedCount: String {
        select(["count(*)"], .b, where: isMissing("a"), twinHas: table.keyColumns)
    }

    /// The query for all rows of one side; its columns are the rowid, if it is the key, and the side's columns.
    func allRows(of side: Side) -> String {
        let rowid = side == .a ? table.a?.rowidName : table.b?.rowidName
        let names = (side == .a ? table.columnsOfA : table.columnsOfB).map(quotedIdentifier)
        let columns = (table.keyColumns.isEmpty ? [rowid ?? "NULL"] : []) + names
        return "SELECT \(columns.joined(separator: ", ")) FROM \(side.name(table)) NOT INDEXED"
    }

    /// The query for the number of rows of one side; it counts the rows themselves, because a damaged index may have a
    /// different number.
    func count(of side: Side) -> String { "SELECT count(*) FROM \(side.name(table)) NOT INDEXED" }

    // MARK: - Parts

    enum Side {
        case a, b

        var alias: String { self == .a ? "a" : "b" }
        var other: Side { self == .a ? .b : .a }

        func name(_ table: ComparedTable) -> String {
            self == .a
                ? "main." + quotedIdentifier(table.a?.name ?? table.name)
                : "other." + quotedIdentifier(table.b?.name ?? table.name)
        }
    }

    /// Builds a query that reads `side` and looks up each row in the other.
    ///
    /// Stores with a common past mostly have a row at the same rowid. In a table with another key, looking up rowids is
    /// much faster. If the row at the same rowid has equal `columns`, which include the key, no lookup by key is
    /// needed.
    private func select(
        _ result: [String], _ side: Side, where condition: String, twinHas columns: [String]
    ) -> String {
        let other = side.other
        var sql =
            "SELECT \(result.joined(separator: ", ")) FROM \(side.name(table)) AS \(side.alias) "
            + "NOT INDEXED "
        var isNoTwin = ""
        if case .key = table.match, let rowidOfA = table.a?.rowidName, let rowidOfB = table.b?.rowidName
        {
            let (own, twins) = side == .a ? (rowidOfA, rowidOfB) : (rowidOfB, rowidOfA)
            sql +=
                "LEFT JOIN \(other.name(table)) AS twin NOT INDEXED ON twin.\(twins) = \(side.alias).\(own) "
            isNoTwin = "(twin.\(twins) IS NULL OR \(differ(columns, side.alias, "twin"))) AND "
        }
        return sql
            + "LEFT JOIN \(other.name(table)) AS \(other.alias) \(lookUpHint(other)) "
            + "ON \(sameKey) WHERE \(scope(side))\(isNoTwin)(\(condition))"
    }

    /// Returns the condition that restricts a side to the rows that may differ.
    private func scope(_ side: Side) -> String {
        guard let rowids = table.rowids, let name = side == .a ? table.a?.rowidName : table.b?.rowidName
        else { return "" }
        return "\(side.alias).\(name) IN (\(rowids.map(String.init).joined(separator: ","))) AND "
    }

    /// Returns the hint that makes the planner look up rows; statistics in the file could mislead it to scan the table
    /// for each row.
    private func lookUpHint(_ side: Side) -> String {
        switch table.match {
        case .rowid: return "NOT INDEXED"
        case .key:
            let shape = side == .a ? table.a : table.b
            return shape?.primaryKeyIndex.map { "INDEXED BY " + quotedIdentifier($0) } ?? ""
        case .none: return ""
        }
    }

    private var sameKey: String {
        switch table.match {
        case .rowid(let a, let b): return "a.\(Self.quoted(a)) = b.\(Self.quoted(b))"
        case .key(let columns):
            return columns.map { column in
                let name = quotedIdentifier(column.name)
                return "a.\(name) = b.\(name) COLLATE \(quotedIdentifier(column.collation))"
            }.joined(separator: " AND ")
        case .none: return "0"
        }
    }

    /// Returns SQL that is true if the outer join found no row; the columns used for the lookup are never NULL.
    private func isMissing(_ alias: String) -> String {
        switch table.match {
        case .rowid(let a, let b): return "\(alias).\(Self.quoted(alias == "a" ? a : b)) IS NULL"
        case .key(let columns): return "\(alias).\(quotedIdentifier(columns[0].name)) IS NULL"
        case .none: return "1"
        }
    }

    /// Returns SQL that is true if one of the columns differs in type or content.
    ///
    /// `IS NOT` alone treats 1 and 1.0 as equal, and follows the columns' collations and affinities.
    private func differ(
        _ columns: [String], _ first: String = "a", _ second: String = "b"
    ) -> String {
        var terms = columns.map { column in
            let name = quotedIdentifier(column)
            let (a, b) = ("+\(first).\(name)", "+\(second).\(name)")
            return "\(a) IS NOT \(b) COLLATE BINARY OR typeof(\(a)) <> typeof(\(b))"
        }
        // Expressions must not be nested too deeply, and a table may have 2000 columns.
        let group = 100
        while terms.count > group {
            terms = stride(from: 0, to: terms.count, by: group).map { start in
                "(" + terms[start..<min(start + group, terms.count)].joined(separator: " OR ") + ")"
            }
        }
        return terms.isEmpty ? "0" : "(" + terms.joined(separator: " OR ") + ")"
    }

    private func rowidColumn(_ alias: String) -> [String] {
        guard table.keyColumns.isEmpty, case .rowid(let a, let b) = table.match else { return [] }
        return ["\(alias).\(Self.quoted(alias == "a" ? a : b))"]
    }

    private func values(_ columns: [String], of alias: String) -> [String] {
        columns.map { "\(alias).\(quotedIdentifier($0))" }
    }

    private static func quoted(_ name: String?) -> String { quotedIdentifier(name ?? "rowid") }
}

struct RowReader: Sendable {
    private let table: ComparedTable
    private let valueLimit: Int
    /// True if the rowid precedes the columns.
    private let hasRowid: Bool
    /// The positions of the key's columns among the columns of A and of B.
    private let keyInA: [Int]
    private let keyInB: [Int]
    /// The positions of the common columns among the columns of A.
    private let commonInA: [Int]

    init(_ table: ComparedTable, valueLimit: Int) {
        self.table = table
        self.valueLimit = valueLimit
        hasRowid = table.keyColumns.isEmpty
        let key = table.keyColumns.map(folded)
        func places(in columns: [String]) -> [Int] {
            let names = columns.map(folded)
            return key.compactMap { names.firstIndex(of: $0) }
        }
        keyInA = places(in: table.columnsOfA)
        keyInB = places(in: table.columnsOfB)
        let placesInA = Dictionary(
            table.columnsOfA.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        commonInA = table.commonColumns.compactMap { placesInA[$0] }
    }

    func wholeRow(
        _ kind: RowChange.Kind, _ statement: borrowing Statement, skipping skipped: Int = 0
    ) -> RowChange {
        let isOld = kind == .deleted
        let names = isOld ? table.columnsOfA : table.columnsOfB
        let first = skipped + (hasRowid ? 1 : 0)
        var cells: [RowChange.Cell] = []
        cells.reserveCapacity(names.count)
        for (index, name) in names.enumerated() {
            let value = statement.storedValue(at: first + index, limit: valueLimit)
            cells.append(
                RowChange.Cell(column: name, old: isOld ? value : nil, new: isOld ? nil : value))
        }
        return RowChange(
            kind: kind, key: key(statement, skipping: skipped, places: isOld ? keyInA : keyInB),
            cells: cells)
    }

    /// Returns a row of ``RowQueries/changedRows`` that both stores have.
    func updatedRow(_ statement: borrowing Statement) -> RowChange {
        let first = 1 + (hasRowid ? 1 : 0)
        let pairs = first + table.columnsOfA.count
        var cells: [RowChange.Cell] = []
        for (index, (name, place)) in zip(table.commonColumns, commonInA).enumerated() {
            guard statement.integer(at: pairs + 2 * index) != 0 else { continue }
            cells.append(
                RowChange.Cell(
                    column: name, old: statement.storedValue(at: first + place, limit: valueLimit),
                    new: statement.storedValue(at: pairs + 2 * index + 1, limit: valueLimit)))
        }
        return RowChange(
            kind: .updated, key: key(statement, skipping: 1, places: keyInA), cells: cells)
    }

    private func key(
        _ statement: borrowing Statement, skipping skipped: Int, places: [Int]
    ) -> [StoredValue] {
        if hasRowid { return [statement.storedValue(at: skipped, limit: valueLimit)] }
        return places.map { statement.storedValue(at: skipped + $0, limit: valueLimit) }
    }
}

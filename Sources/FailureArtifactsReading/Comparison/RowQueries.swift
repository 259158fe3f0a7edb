internal import FailureArtifactsSQLite

/// The SQL that finds the rows of one table which differ.
///
/// `a` and `b` are the table in both stores. Each query reads one side once, in the order in which its rows
/// are stored, and looks each row up in the other by its key; so nothing is sorted, and nothing kept.
struct RowQueries: Sendable {
    private let table: ComparedTable
    private let pairsPerCall: Int

    init(_ table: ComparedTable, pairsPerCall: Int) {
        self.table = table
        self.pairsPerCall = pairsPerCall
    }

    // MARK: - Queries

    /// The rows of A that are changed or missing in B.
    ///
    /// Columns: whether the row is missing; the rowid, if that is the key; the columns of A; and for each
    /// common column whether it differs, and its value in B.
    var changedRows: String {
        var columns = [isMissing("b")] + rowidColumn("a") + values(table.columnsOfA, of: "a")
        for column in table.commonColumns {
            columns += [differ([column]), "b." + quotedIdentifier(column)]
        }
        return select(columns, .a, where: changedCondition, twinHas: table.commonColumns)
    }

    /// How many rows of A are changed or missing in B, and how many of them are missing.
    var changedCounts: String {
        select(
            ["count(*)", "count(CASE WHEN \(isMissing("b")) THEN 1 END)"], .a, where: changedCondition,
            twinHas: table.commonColumns)
    }

    /// The rows of B that A does not have; columns: the rowid, if that is the key; the columns of B.
    var insertedRows: String {
        select(
            rowidColumn("b") + values(table.columnsOfB, of: "b"), .b, where: isMissing("a"),
            twinHas: table.keyColumns)
    }

    /// The same rows, where all of them have rowids above those of A, and how many have; nil where rows are
    /// not found by rowid.
    var appendedRows: (count: String, rows: String)? {
        guard case .rowid(let a, let b) = table.match else { return nil }
        let condition =
            " WHERE \(Self.quoted(b)) > (SELECT coalesce(max(\(Self.quoted(a))), \(Int64.min)) "
            + "FROM \(Side.a.name(table)))"
        return (count(of: .b) + condition, allRows(of: .b) + condition)
    }

    /// The rows of B that A does not have, or has with other values.
    var changedRowsOfB: String {
        select(
            rowidColumn("b") + values(table.columnsOfB, of: "b"), .b,
            where: "\(isMissing("a")) OR \(differ(table.commonColumns))", twinHas: table.commonColumns)
    }

    /// All rows of one side; columns: the rowid, if that is the key; the columns of the side.
    func allRows(of side: Side) -> String {
        let rowid = side == .a ? table.a?.rowidName : table.b?.rowidName
        let names = (side == .a ? table.columnsOfA : table.columnsOfB).map(quotedIdentifier)
        let columns = (table.key == .rowid ? [rowid ?? "NULL"] : []) + names
        return "SELECT \(columns.joined(separator: ", ")) FROM \(side.name(table)) NOT INDEXED"
    }

    /// How many rows one side has.
    ///
    /// The rows themselves are counted: a damaged index has another number.
    func count(of side: Side) -> String { "SELECT count(*) FROM \(side.name(table)) NOT INDEXED" }

    // MARK: - Parts

    /// One of the two stores.
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

    /// Reads `side` and looks each row up in the other.
    ///
    /// Stores with a common past mostly have a row at the same rowid, and in a table with another key rowids
    /// are found much faster. Where that row has the same `columns`, its key, which is among them, need not
    /// be looked up.
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
            + "ON \(sameKey) WHERE \(isNoTwin)(\(condition))"
    }

    private var changedCondition: String { "\(isMissing("b")) OR \(differ(table.commonColumns))" }

    /// Statistics in the file, which the planner believes, must not make it read the whole table per row.
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

    /// Whether the outer join found no row: what is looked up by is never NULL.
    private func isMissing(_ alias: String) -> String {
        switch table.match {
        case .rowid(let a, let b): return "\(alias).\(Self.quoted(alias == "a" ? a : b)) IS NULL"
        case .key(let columns): return "\(alias).\(quotedIdentifier(columns[0].name)) IS NULL"
        case .none: return "1"
        }
    }

    /// Whether one of the columns differs.
    private func differ(
        _ columns: [String], _ first: String = "a", _ second: String = "b"
    ) -> String {
        var calls: [String] = []
        var rest = columns[...]
        while !rest.isEmpty {
            let pairs = rest.prefix(pairsPerCall).map { column in
                let name = quotedIdentifier(column)
                return "\(first).\(name), \(second).\(name)"
            }
            calls.append("failure_artifacts_differ(\(pairs.joined(separator: ", ")))")
            rest = rest.dropFirst(pairsPerCall)
        }
        return calls.isEmpty ? "0" : "(" + calls.joined(separator: " OR ") + ")"
    }

    private func rowidColumn(_ alias: String) -> [String] {
        guard table.key == .rowid, case .rowid(let a, let b) = table.match else { return [] }
        return ["\(alias).\(Self.quoted(alias == "a" ? a : b))"]
    }

    private func values(_ columns: [String], of alias: String) -> [String] {
        columns.map { "\(alias).\(quotedIdentifier($0))" }
    }

    private static func quoted(_ name: String?) -> String { quotedIdentifier(name ?? "rowid") }
}

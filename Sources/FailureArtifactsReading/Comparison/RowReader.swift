internal import FailureArtifactsSQLite

/// Creates row changes from the results of ``RowQueries``.
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
        hasRowid = table.key == .rowid
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

    /// Returns a row that only one store has.
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

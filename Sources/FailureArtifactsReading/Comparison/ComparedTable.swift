internal import FailureArtifactsSQLite

package struct ComparedTable: Sendable {
    /// The stores that have the table.
    package enum Presence: String, Sendable {
        case both, onlyInA, onlyInB
        /// Both stores have the table, but with different keys, so that rows can't be matched. All rows of A count as
        /// deleted, and all rows of B as inserted.
        case replaced
    }

    package let name: String
    package let presence: Presence
    /// The columns of the primary key; empty for the rowid, if the table has no key or one with NULL values.
    package let keyColumns: [String]
    /// True if the table holds the content of a virtual table.
    package let isShadow: Bool
    /// The reason why the rows are not compared, as a clause; nil if they are compared.
    package let problem: String?

    /// The readable columns of A, of B, and of both.
    package let columnsOfA: [String]
    package let columnsOfB: [String]
    package let commonColumns: [String]

    let a: TableShape?
    let b: TableShape?
    let match: RowMatch
    /// The rowids of the rows to compare; nil for all rows.
    var rowids: [Int64]?
}

/// The method of finding a row in the other store.
enum RowMatch: Equatable, Sendable {
    /// By rowid, with its names in A and B. A name is nil if that store doesn't have the table.
    case rowid(a: String?, b: String?)
    /// By a primary key other than the rowid.
    case key([TableShape.KeyColumn])
    case none
}

extension TableShape {
    /// Returns the method of identifying this table's rows on its own; nil if there is no method.
    func match(rowidIsKey: Bool) -> RowMatch? {
        if let integerKey { return .rowid(a: integerKey, b: integerKey) }
        if !primaryKey.isEmpty, !rowidIsKey { return .key(primaryKey) }
        return rowidName.map { .rowid(a: $0, b: $0) }
    }
}

package struct RowChange: Sendable {
    package enum Kind: String, Sendable {
        case inserted, updated, deleted
    }

    package struct Cell: Equatable, Sendable {
        package let column: String
        package let old: StoredValue?
        package let new: StoredValue?

        package init(column: String, old: StoredValue?, new: StoredValue?) {
            self.column = column
            self.old = old
            self.new = new
        }
    }

    package let kind: Kind
    /// The values of the table's ``ComparedTable/keyColumns``, or the rowid; for an updated row, they come from A.
    package let key: [StoredValue]
    /// All columns of an inserted or deleted row; the changed columns of an updated row.
    package let cells: [Cell]

    package init(kind: Kind, key: [StoredValue], cells: [Cell]) {
        self.kind = kind
        self.key = key
        self.cells = cells
    }
}

package struct RowCounts: Equatable, Sendable {
    package var inserted: Int64 = 0
    package var updated: Int64 = 0
    package var deleted: Int64 = 0

    package init(inserted: Int64 = 0, updated: Int64 = 0, deleted: Int64 = 0) {
        self.inserted = inserted
        self.updated = updated
        self.deleted = deleted
    }

    package var total: Int64 { inserted + updated + deleted }
}

internal import FailureArtifactsSQLite

/// A row that differs between the stores.
package struct RowChange: Sendable {
    package enum Kind: Equatable, Sendable {
        case inserted, updated, deleted
    }

    /// A column's value before and after.
    package struct Cell: Equatable, Sendable {
        package let column: String
        /// The value in A; nil in an inserted row.
        package let old: StoredValue?
        /// The value in B; nil in a deleted row.
        package let new: StoredValue?

        package init(column: String, old: StoredValue?, new: StoredValue?) {
            self.column = column
            self.old = old
            self.new = new
        }
    }

    package let kind: Kind
    /// The values of the table's ``ComparedTable/keyColumns``, or the rowid.
    ///
    /// For an updated row, they come from A.
    package let key: [StoredValue]
    /// All columns of an inserted or deleted row; the changed columns of an updated row.
    package let cells: [Cell]

    package init(kind: Kind, key: [StoredValue], cells: [Cell]) {
        self.kind = kind
        self.key = key
        self.cells = cells
    }
}

/// The numbers of rows that differ.
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

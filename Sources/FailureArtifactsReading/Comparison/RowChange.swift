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

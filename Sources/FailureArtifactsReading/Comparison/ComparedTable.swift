internal import FailureArtifactsSQLite

/// A table of one store, of the other, or of both.
package struct ComparedTable: Sendable {
    /// What its rows are recognised by in both stores.
    package enum Key: Equatable, Sendable {
        /// The rowid, where there is no primary key, or one that holds NULL.
        case rowid
        /// The columns of the primary key.
        case columns([String])
    }

    /// Where the table is.
    package enum Presence: Equatable, Sendable {
        case both, onlyInA, onlyInB
        /// It is in both, but the rows of one cannot be found in the other: the key is another one. All rows
        /// of A count as deleted, and all rows of B as inserted.
        case replaced
    }

    package let name: String
    package let presence: Presence
    package let key: Key
    /// Whether a virtual table keeps its content here.
    package let isShadow: Bool
    /// Why the rows are not compared, as a clause; nil where they are.
    package let problem: String?

    /// The columns of A, of B, and those of both; all that can be read.
    package let columnsOfA: [String]
    package let columnsOfB: [String]
    package let commonColumns: [String]

    let a: TableShape?
    let b: TableShape?
    let match: RowMatch

    /// The names of the columns that a row's key has; none where it is the rowid.
    package var keyColumns: [String] {
        if case .columns(let names) = key { return names }
        return []
    }
}

/// How a row is found in the other store.
enum RowMatch: Equatable, Sendable {
    /// By rowid; the names of it in A and in B, of which one may be missing with its table.
    case rowid(a: String?, b: String?)
    /// By a primary key that is no rowid.
    case key([TableShape.KeyColumn])
    /// Not at all.
    case none
}

extension TableShape {
    /// How its rows are told apart where nothing else is known; nil where they cannot be.
    func match(rowidIsKey: Bool) -> RowMatch? {
        if let integerKey { return .rowid(a: integerKey, b: integerKey) }
        if !primaryKey.isEmpty, !rowidIsKey { return .key(primaryKey) }
        return rowidName.map { .rowid(a: $0, b: $0) }
    }
}

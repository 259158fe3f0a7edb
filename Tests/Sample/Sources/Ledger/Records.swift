import GRDB

/// A person's money, or a purpose that it was spent on.
struct Account: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "account"

    var id: Int64?
    var name: String

    mutating func didInsert(_ inserted: InsertionSuccess) {
        id = inserted.rowID
    }
}

/// A business transaction.
///
/// The amounts of its postings add up to zero.
struct Transfer: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "transfer"

    var id: Int64?
    var day: String
    var note: String

    mutating func didInsert(_ inserted: InsertionSuccess) {
        id = inserted.rowID
    }
}

/// The amount that a transfer adds to one account.
struct Posting: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "posting"

    var transferID: Int64?
    var accountID: Int64?
    var cents: Int
}

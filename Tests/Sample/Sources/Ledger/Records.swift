import GRDB

/// Somebody's money, or what it was spent on.
struct Account: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "account"

    var id: Int64?
    var name: String

    mutating func didInsert(_ inserted: InsertionSuccess) {
        id = inserted.rowID
    }
}

/// One business transaction, whose postings add up to zero.
struct Transfer: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "transfer"

    var id: Int64?
    var day: String
    var note: String

    mutating func didInsert(_ inserted: InsertionSuccess) {
        id = inserted.rowID
    }
}

/// What a transfer adds to one account.
struct Posting: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "posting"

    var transferID: Int64?
    var accountID: Int64?
    var cents: Int
}

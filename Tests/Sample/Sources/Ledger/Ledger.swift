import GRDB

/// Double-entry bookkeeping in a SQLite database.
///
/// Amounts are in cents. They are positive for money that an account owes or spends, negative for money it
/// gave.
public struct Ledger {
    /// The reasons to refuse a booking.
    public enum BookingError: Error, Equatable {
        case unknownAccount(String)
        case notAHundredPercent(Int)
    }

    private let database: any DatabaseWriter

    /// Opens the database, and creates missing tables.
    public init(_ database: any DatabaseWriter) throws {
        self.database = database
        var migrator = DatabaseMigrator()
        migrator.registerMigration("books") { db in
            try db.create(table: "account") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("name", .text).notNull().unique()
            }
            try db.create(table: "transfer") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("day", .text).notNull()
                table.column("note", .text).notNull()
            }
            try db.create(table: "posting") { table in
                table.column("transferID", .integer).notNull().references("transfer")
                table.column("accountID", .integer).notNull().references("account")
                table.column("cents", .integer).notNull()
            }
        }
        try migrator.migrate(database)
    }

    /// Opens accounts.
    public func open(_ names: String...) throws {
        try database.write { db in
            for name in names {
                var account = Account(name: name)
                try account.insert(db)
            }
        }
    }

    /// Moves an amount from one account to another.
    public func move(
        _ cents: Int, from giver: String, to taker: String, on day: String, note: String
    ) throws {
        try book(on: day, note: note, [(giver, -cents), (taker, cents)])
    }

    /// Splits a bill into equal parts.
    ///
    /// The first participant pays the remaining cents.
    public func splitEvenly(
        _ cents: Int, paidBy payer: String, among names: [String], on day: String, note: String
    ) throws {
        let (part, rest) = cents.quotientAndRemainder(dividingBy: names.count)
        let parts = names.enumerated().map { index, name in (name, index < rest ? part + 1 : part) }
        try book(on: day, note: note, [(payer, -cents)] + parts)
    }

    /// Splits a bill by shares in percent.
    public func split(
        _ cents: Int, paidBy payer: String, shares: [(name: String, percent: Int)], on day: String,
        note: String
    ) throws {
        let total = shares.map(\.percent).reduce(0, +)
        guard total == 100 else { throw BookingError.notAHundredPercent(total) }
        let parts = shares.map { ($0.name, Int((Double(cents * $0.percent) / 100).rounded())) }
        try book(on: day, note: note, [(payer, -cents)] + parts)
    }

    /// Returns the sum of an account's postings.
    public func balance(of name: String) throws -> Int {
        try database.read { db in
            let account = try Self.account(name, in: db)
            return try Posting.filter(Column("accountID") == account)
                .select(sum(Column("cents")), as: Int.self).fetchOne(db) ?? 0
        }
    }

    /// Returns the sum of all postings, which is zero if the books are balanced.
    public func total() throws -> Int {
        try database.read { db in
            try Posting.select(sum(Column("cents")), as: Int.self).fetchOne(db) ?? 0
        }
    }

    private func book(on day: String, note: String, _ postings: [(account: String, cents: Int)]) throws {
        try database.write { db in
            var transfer = Transfer(day: day, note: note)
            try transfer.insert(db)
            for posting in postings {
                let account = try Self.account(posting.account, in: db)
                try Posting(transferID: transfer.id, accountID: account, cents: posting.cents).insert(db)
            }
        }
    }

    private static func account(_ name: String, in db: Database) throws -> Int64 {
        let id = try Int64.fetchOne(db, sql: "SELECT id FROM account WHERE name = ?", arguments: [name])
        guard let id else { throw BookingError.unknownAccount(name) }
        return id
    }
}

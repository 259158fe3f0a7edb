/// A double-entry ledger.
///
/// Amounts are in cents.
package final class Ledger {
    let db: Connection

    package init(_ db: Connection) throws {
        self.db = db
        try db.run(Self.schema)
    }

    private static let schema = """
        CREATE TABLE IF NOT EXISTS account (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE,
            kind TEXT NOT NULL CHECK (kind IN ('asset', 'liability', 'income', 'expense')),
            parentID INTEGER REFERENCES account (id), cachedBalance INTEGER NOT NULL DEFAULT 0,
            closed INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE IF NOT EXISTS transfer (
            id INTEGER PRIMARY KEY, date TEXT NOT NULL, memo TEXT, reconciled INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE IF NOT EXISTS posting (
            id INTEGER PRIMARY KEY, transferID INTEGER NOT NULL REFERENCES transfer (id),
            accountID INTEGER NOT NULL REFERENCES account (id), amount INTEGER NOT NULL);
        CREATE INDEX IF NOT EXISTS posting_account ON posting (accountID);
        CREATE TABLE IF NOT EXISTS receipt (
            id INTEGER PRIMARY KEY, transferID INTEGER NOT NULL, path TEXT NOT NULL, bytes INTEGER NOT NULL);
        CREATE TABLE IF NOT EXISTS budget (
            accountID INTEGER NOT NULL, month TEXT NOT NULL, amount INTEGER NOT NULL CHECK (amount >= 0),
            PRIMARY KEY (accountID, month));
        CREATE TABLE IF NOT EXISTS bankLine (
            id INTEGER PRIMARY KEY, reference TEXT NOT NULL UNIQUE, bookedOn TEXT NOT NULL, payee TEXT,
            amount INTEGER NOT NULL, transferID INTEGER);
        CREATE TABLE IF NOT EXISTS journal (
            id INTEGER PRIMARY KEY, event TEXT NOT NULL, detail TEXT);
        """

    // MARK: Accounts

    @discardableResult
    package func openAccount(_ name: String, kind: String, parent: Int? = nil) throws -> Int {
        let sql = "INSERT INTO account (name, kind, parentID) VALUES (?, ?, ?)"
        try db.execute(sql, .text(name), .text(kind), Value(parent))  // Culprit: testImportsChart
        return db.lastInsertID
    }

    package func accountID(_ name: String) throws -> Int? {
        try db.scalar("SELECT id FROM account WHERE name = ?", .text(name)).int
    }

    package func openAccountCount() throws -> Int? {
        try db.scalar("SELECT count(*) FROM account WHERE NOT closed").int
    }

    // MARK: Transfers

    /// Records a transfer with its postings, whose amounts add up to 0.
    @discardableResult
    package func record(_ date: String, _ memo: String?, _ postings: [(account: Int, amount: Int)])
        throws -> Int
    {
        try db.transaction {
            try db.execute(
                "INSERT INTO transfer (date, memo) VALUES (?, ?)", .text(date), Value(memo))
            let transfer = db.lastInsertID
            for posting in postings {
                try db.execute(
                    "INSERT INTO posting (transferID, accountID, amount) VALUES (?, ?, ?)",
                    .integer(transfer),
                    .integer(posting.account), .integer(posting.amount))
            }
            return transfer
        }
    }

    /// Moves an amount from one account to another.
    @discardableResult
    package func move(
        _ amount: Int, from source: Int, to target: Int, on date: String, memo: String? = nil
    ) throws -> Int {
        try record(date, memo, [(source, -amount), (target, amount)])
    }

    package func balance(of account: Int) throws -> Int? {
        try db.scalar(
            """
            SELECT coalesce(sum(amount), 0) FROM posting JOIN transfer ON transfer.id = posting.transferID
            WHERE accountID = ?
            """, .integer(account)
        ).int
    }

    package func transferCount() throws -> Int? {
        try db.scalar("SELECT count(*) FROM transfer").int
    }

    /// Removes a transfer and its postings.
    package func remove(_ id: Int) throws {
        try db.transaction {
            try db.execute("DELETE FROM posting WHERE transferID = ?", Value(id))
            let sql = "DELETE FROM transfer WHERE id = ?"
            try db.execute(sql, Value(id))  // Culprit: testStorage, testUnmatchedLines
        }
    }

    // MARK: Receipts

    package func attach(_ path: String, bytes: Int, to transfer: Int) throws {
        try db.execute(
            "INSERT INTO receipt (transferID, path, bytes) VALUES (?, ?, ?)", .integer(transfer),
            .text(path),
            .integer(bytes))
    }

    package func storageUsed() throws -> Int? {
        try db.scalar("SELECT coalesce(sum(bytes), 0) FROM receipt").int
    }

    // MARK: Reconciliation

    /// Marks a transfer as seen on a bank statement.
    package func reconcile(_ transfer: Int) throws {
        let sql = "UPDATE transfer SET reconciled = 1 WHERE id = id"
        try db.execute(sql, Value(transfer))  // Culprit: testUnreconciledCount
        try log("reconciled", "\(transfer)")
    }

    package func unreconciledCount() throws -> Int? {
        try db.scalar("SELECT count(*) FROM transfer WHERE NOT reconciled").int
    }

    package func log(_ event: String, _ detail: String?) throws {
        try db.execute("INSERT INTO journal (event, detail) VALUES (?, ?)", .text(event), Value(detail))
    }
}

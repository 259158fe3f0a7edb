/// A line of a bank statement.
package struct BankLine {
    package let reference: String
    package let bookedOn: String
    package let payee: String?
    package let amount: Int

    package init(_ reference: String, _ bookedOn: String, _ payee: String?, _ amount: Int) {
        self.reference = reference
        self.bookedOn = bookedOn
        self.payee = payee
        self.amount = amount
    }
}

// Bank statements.
extension Ledger {
    private static let insert =
        "INSERT INTO bankLine (reference, bookedOn, payee, amount) VALUES (?, ?, ?, ?)"

    @discardableResult
    package func add(_ line: BankLine) throws -> Int {
        let (date, payee) = (Value(line.bookedOn), Value(line.payee))
        let (id, amount) = (Value(line.reference), Value(line.amount))
        try db.execute(Self.insert, id, date, payee, amount)  // Culprit: testJuneLines
        return db.lastInsertID
    }

    /// Imports the lines of a statement.
    ///
    /// - Returns: True if the statement was imported.
    @discardableResult
    package func importStatement(_ lines: [BankLine]) throws -> Bool {
        do {
            try db.transaction {
                for line in lines {
                    let (date, payee) = (Value(line.bookedOn), Value(line.payee))
                    let (id, amount) = (Value(line.reference), Value(line.amount))
                    try db.execute(Self.insert, id, date, payee, amount)  // Culprit: testImportedLines
                }
            }
            return true
        } catch is SQLError {
            try log("import failed", lines.first?.reference)
            return false
        }
    }

    /// Imports a large statement without a journal.
    package func importArchive(_ lines: [BankLine]) throws {
        try db.run("PRAGMA journal_mode = OFF")  // Culprit: testArchive
        try? db.transaction {
            for line in lines {
                let (date, payee) = (Value(line.bookedOn), Value(line.payee))
                let (id, amount) = (Value(line.reference), Value(line.amount))
                try db.execute(Self.insert, id, date, payee, amount)  // Culprit: testArchive
            }
        }
        try db.run("PRAGMA journal_mode = DELETE")
    }

    /// Sets the payee of lines without one, and forbids such lines from now on.
    package func requirePayees() throws {
        let sql = "UPDATE bankLine SET payee = 'unknown' WHERE payee = NULL"
        try db.execute(sql)  // Culprit: testUnknownPayees
        // A change of the schema that doesn't copy the table, as SQLite's documentation describes it.
        try db.run("PRAGMA writable_schema = ON")
        let change = "UPDATE sqlite_schema SET sql = replace(sql, 'payee TEXT', 'payee TEXT NOT NULL')"
        try db.execute(change + " WHERE name = 'bankLine'")  // Culprit: testUnknownPayees
        try db.run("PRAGMA writable_schema = RESET")
    }

    package func lineCount(payee: String) throws -> Int? {
        try db.scalar("SELECT count(*) FROM bankLine WHERE payee = ?", .text(payee)).int
    }

    package func match(_ line: Int, with transfer: Int) throws {
        try db.execute(
            "UPDATE bankLine SET transferID = ? WHERE id = ?", .integer(transfer), .integer(line))
    }

    package func lineCount() throws -> Int? {
        try db.scalar("SELECT count(*) FROM bankLine").int
    }

    package func unmatchedLineCount() throws -> Int? {
        try db.scalar("SELECT count(*) FROM bankLine WHERE transferID IS NULL").int
    }

    package func lineTotal(month: String) throws -> Int? {
        let sql = "SELECT sum(amount) FROM bankLine WHERE bookedOn LIKE ? || '-%'"
        return try db.scalar(sql, .text(month)).int
    }

    /// Returns a cursor over the lines, the newest first.
    package func newestLines() throws -> Cursor {
        let sql = "SELECT id, payee, amount FROM bankLine ORDER BY id DESC"
        return try db.cursor(sql)  // Culprit: testImportWhileReading
    }

    /// Returns the lines that a transfer with a similar memo may belong to.
    package func suggestions() throws -> Int? {
        let sql = """
            SELECT count(*) FROM bankLine JOIN transfer
            ON lower(transfer.memo) = lower(bankLine.payee) AND abs(bankLine.amount) > 10
            """
        return try db.scalar(sql).int  // Culprit: testSuggestionsAreFast
    }
}

// Budgets.
extension Ledger {
    package func addBudget(_ amount: Int, for account: Int, month: String) throws {
        let sql = "INSERT INTO budget (accountID, month, amount) VALUES (?, ?, ?)"
        try db.execute(sql, .integer(account), .text(month), .integer(amount))
    }

    /// Changes an existing budget.
    package func setBudget(_ amount: Int, for account: Int, month: String) throws {
        let sql = "UPDATE budget SET amount = ? WHERE accountID = ? AND month = ?"
        try db.execute(sql, .integer(account), .text(month), .integer(amount))  // Culprit: testRemaining
    }

    /// Loads the budgets of a year.
    package func loadBudgets(_ budgets: [(account: Int, month: String, amount: Int)]) throws {
        try db.run("PRAGMA ignore_check_constraints = ON")
        defer { try? db.run("PRAGMA ignore_check_constraints = OFF") }
        let sql = "INSERT OR REPLACE INTO budget (accountID, month, amount) VALUES (?, ?, ?)"
        for budget in budgets {
            let (account, month) = (Value(budget.account), Value(budget.month))
            try db.execute(sql, account, month, Value(budget.amount))  // Culprit: testYearlyBudget
        }
    }

    package func remainingBudget(of account: Int, month: String) throws -> Int? {
        let sql = """
            SELECT amount - (
                SELECT coalesce(sum(posting.amount), 0) FROM posting
                JOIN transfer ON transfer.id = posting.transferID
                WHERE posting.accountID = budget.accountID AND transfer.date LIKE budget.month || '-%')
            FROM budget WHERE accountID = ? AND month = ?
            """
        return try db.scalar(sql, .integer(account), .text(month)).int
    }

    package func totalBudget() throws -> Int? {
        try db.scalar("SELECT sum(amount) FROM budget").int
    }
}

// Upkeep.
extension Ledger {
    /// Moves everything from one account to another, and removes the first.
    package func merge(_ source: Int, into target: Int) throws {
        try db.transaction {
            let sql = "UPDATE posting SET accountID = ? WHERE accountID = ?"
            try db.execute(sql, .integer(source), .integer(target))  // Culprit: testMerge
            try db.execute(
                "UPDATE account SET parentID = ? WHERE parentID = ?", .integer(target), .integer(source))
            try db.execute("DELETE FROM account WHERE id = ?", Value(source))  // Culprit: testMerge
        }
    }

    /// Charges a monthly fee to each account that has a balance.
    ///
    /// - Returns: The number of charged accounts.
    @discardableResult
    package func chargeFees(_ fee: Int, to accounts: [Int], payee: Int, on date: String) throws -> Int {
        try db.run("BEGIN IMMEDIATE")  // Culprit: testFees
        var charged = 0
        for account in accounts where try balance(of: account) ?? 0 > fee {
            let sql = "INSERT INTO transfer (date, memo) VALUES (?, 'Fee')"
            try db.execute(sql, .text(date))  // Culprit: testFees
            let insert = "INSERT INTO posting (transferID, accountID, amount) VALUES (?, ?, ?)"
            let id = Value(db.lastInsertID)
            try db.execute(insert, id, Value(account), Value(-fee))  // Culprit: testFees
            try db.execute(insert, id, Value(payee), Value(fee))  // Culprit: testFees
            charged += 1
        }
        if charged == accounts.count { return charged }
        try log("fees", "\(accounts.count - charged) accounts without balance")
        try db.run("COMMIT")
        return charged
    }

    /// Stores the balance of each account for quick access.
    package func refreshCachedBalances() throws {
        try db.run(
            """
            UPDATE account SET cachedBalance = (
                SELECT coalesce(sum(amount), 0) FROM posting WHERE accountID = account.id)
            """)
    }

    package func cachedBalance(of account: Int) throws -> Int? {
        try db.scalar("SELECT cachedBalance FROM account WHERE id = ?", .integer(account)).int
    }

    /// Adds a year's interest, monthly compounded, to the cached balance.
    package func accrueInterest(basisPoints: Int, account: Int) throws {
        var balance = try cachedBalance(of: account) ?? 0
        for _ in 1...12 { balance += balance * (basisPoints / 12) / 10_000 }
        let sql = "UPDATE account SET cachedBalance = ? WHERE id = ?"
        try db.execute(sql, .integer(balance), .integer(account))  // Culprit: testInterest
        try log("interest", nil)
    }

    /// Moves old transfers to another table.
    package func archive(before date: String) throws {
        try db.transaction {
            let copy = "INSERT INTO archivedTransfer SELECT * FROM transfer WHERE date < ?"
            try db.execute(copy, .text(date))  // Culprit: testArchivedTransfers
            try db.execute("DELETE FROM transfer WHERE date < ?", .text(date))
        }
    }

    /// Returns the balances after the given changes, which aren't kept.
    package func preview<T>(_ body: () throws -> T) throws -> T {
        try db.run("SAVEPOINT preview")
        defer { try? db.run("ROLLBACK TO preview; RELEASE preview") }
        return try body()
    }

    /// Adds a transfer of today inside a transaction that exists already.
    package func plan(_ amount: Int, from source: Int, to target: Int) throws {
        try db.execute("INSERT INTO transfer (date, memo) VALUES (date('now'), 'Plan')")
        let transfer = Value(db.lastInsertID)
        let sql = "INSERT INTO posting (transferID, accountID, amount) VALUES (?, ?, ?)"
        try db.execute(sql, transfer, .integer(source), .integer(-amount))
        try db.execute(sql, transfer, .integer(target), .integer(amount))
    }

    /// Returns the sums of an account's transfers by memo.
    package func totalsByMemo(of account: Int) throws -> [String: Int] {
        let sql = """
            SELECT coalesce(memo, 'other'), sum(amount) FROM posting
            JOIN transfer ON transfer.id = posting.transferID WHERE accountID = ? GROUP BY 1
            """
        var totals: [String: Int] = [:]
        for row in try db.query(sql, .integer(account)) { totals[row[0].string ?? ""] = row[1].int }
        return totals
    }

    /// Sets a memo on the transfers of a day that have none.
    package func fillMemos(_ memo: String, on date: String) throws {
        try db.execute(
            "UPDATE transfer SET memo = ? WHERE date = ? AND memo IS NULL", .text(memo), .text(date))
    }

    package func clearJournal() throws {
        try db.run("DELETE FROM journal")
    }
}

/// A till, which adds what it takes in to the cached balance of an account.
package final class Till {
    private let ledger: Ledger
    private let account: Int
    private var balance: Int

    package init(_ ledger: Ledger, account: Int) throws {
        self.ledger = ledger
        self.account = account
        balance = try ledger.cachedBalance(of: account) ?? 0
    }

    package func deposit(_ amount: Int) throws {
        balance += amount
        let sql = "UPDATE account SET cachedBalance = ? WHERE id = ?"
        try ledger.db.execute(sql, .integer(balance), .integer(account))  // Culprit: testTwoTills
    }
}

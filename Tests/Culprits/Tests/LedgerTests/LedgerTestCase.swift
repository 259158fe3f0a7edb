import Ledger
import Stores

class LedgerTestCase: StoreTestCase {
    func connect(_ name: String = "ledger.db", busyTimeout: Int32 = 0) throws -> Connection {
        try Connection(
            path: StoreKind.current.path(path(name)),
            journalMode: StoreKind.current == .wal ? .wal : .delete, busyTimeout: busyTimeout)
    }

    /// The accounts of a household and twenty transfers of its last year.
    struct Household {
        let ledger: Ledger
        let checking: Int
        let savings: Int
        let cash: Int
        let salary: Int
        let rent: Int
        let food: Int
        let travel: Int

        init(_ ledger: Ledger) throws {
            self.ledger = ledger
            checking = try ledger.openAccount("Checking", kind: "asset")
            savings = try ledger.openAccount("Savings", kind: "asset")
            cash = try ledger.openAccount("Cash", kind: "asset")
            salary = try ledger.openAccount("Salary", kind: "income")
            rent = try ledger.openAccount("Rent", kind: "expense")
            food = try ledger.openAccount("Food", kind: "expense")
            travel = try ledger.openAccount("Travel", kind: "expense", parent: rent)
            for month in 1...5 {
                let date = "2025-0\(month)-"
                try ledger.move(280_000, from: salary, to: checking, on: date + "01", memo: "Salary")
                try ledger.move(95_000, from: checking, to: rent, on: date + "03", memo: "Rent")
                try ledger.move(20_000 + 100 * month, from: checking, to: cash, on: date + "07")
                try ledger.move(
                    15_500 - 250 * month, from: cash, to: food, on: date + "21", memo: "Market")
            }
        }
    }
}

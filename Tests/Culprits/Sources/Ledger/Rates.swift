/// A source of exchange rates.
package protocol RateService {
    func rate(of currency: String, on date: String) throws -> Double
}

/// Exchange rates, which a service provides and a table keeps.
package final class Rates {
    private let db: Connection
    private let service: any RateService

    package init(_ db: Connection, service: any RateService) throws {
        self.db = db
        self.service = service
        try db.run(
            """
            CREATE TABLE IF NOT EXISTS rate (
                currency TEXT NOT NULL, date TEXT NOT NULL, rate REAL NOT NULL, sourceID TEXT, usedAt TEXT,
                PRIMARY KEY (currency, date)) WITHOUT ROWID
            """)
    }

    package func store(_ rate: Double, of currency: String, on date: String, sourceID: String? = nil)
        throws
    {
        let sql = """
            INSERT INTO rate (currency, date, rate, sourceID) VALUES (?, ?, ?, ?)
            ON CONFLICT (currency, date) DO UPDATE SET rate = excluded.rate
            """
        try db.execute(sql, .text(currency), .text(date), .real(rate), sourceID.map(Value.text) ?? .null)
    }

    /// Converts an amount to euros.
    package func euros(_ amount: Int, _ currency: String, on date: String) throws -> Double {
        try db.execute(
            "UPDATE rate SET usedAt = ? WHERE currency = ? AND date = ?", .text(date), .text(currency),
            .text(date))
        let known = try db.scalar(
            "SELECT rate FROM rate WHERE currency = ? AND date = ?", .text(currency), .text(date))
        if case .real(let rate) = known { return Double(amount) / 100 / rate }
        let rate = try service.rate(of: currency, on: date)
        try store(rate, of: currency, on: date)
        return Double(amount) / 100 / rate
    }
}

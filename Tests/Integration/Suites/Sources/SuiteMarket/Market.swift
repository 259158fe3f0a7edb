import GRDB

/// A market in a store in memory, as an application with mistakes has it.
public struct Market: Sendable {
    private let queue: DatabaseQueue

    /// Creates the tables.
    ///
    /// - Throws: An error of the store.
    public init() throws {
        queue = try DatabaseQueue()
        try queue.write { db in
            try db.create(table: "fruit") { table in
                table.primaryKey("name", .text)
                table.column("kilos", .integer).notNull()
                table.column("cents", .integer).notNull()
            }
            try db.create(table: "sale") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("fruit", .text).notNull().references("fruit")
                table.column("kilos", .integer).notNull()
            }
        }
    }

    private func integer(_ sql: String, _ arguments: StatementArguments = []) throws -> Int? {
        try queue.read { db in
            try Int.fetchOne(db, sql: sql, arguments: arguments)  // line: queried
        }
    }

    /// Adds a fruit.
    ///
    /// - Parameters:
    ///   - fruit: Its name.
    ///   - kilos: Its amount.
    ///   - cents: The price of a kilo.
    /// - Throws: An error of the store.
    public func deliver(_ fruit: String, kilos: Int, cents: Int) throws {
        try queue.write { db in
            try db.execute(
                sql: "INSERT INTO fruit (name, kilos, cents) VALUES (?, ?, ?)",
                arguments: [fruit, kilos, cents])
        }
    }

    /// Sells some kilos of a fruit, and wrongly removes what is left of another one.
    ///
    /// - Parameters:
    ///   - fruit: Its name.
    ///   - kilos: The amount.
    /// - Throws: An error of the store.
    public func sell(_ fruit: String, kilos: Int) throws {
        try queue.write { db in
            try db.execute(
                sql: "INSERT INTO sale (fruit, kilos) VALUES (?, ?)", arguments: [fruit, kilos])
            try db.execute(
                sql: "UPDATE fruit SET kilos = kilos - ? WHERE name = ?", arguments: [kilos, fruit])
            try db.execute(sql: "UPDATE fruit SET kilos = 0 WHERE kilos < 25")  // line: cleared
        }
    }

    /// Sets the price of a fruit, but has no condition.
    ///
    /// - Parameters:
    ///   - fruit: Its name.
    ///   - cents: The price of a kilo.
    /// - Throws: An error of the store.
    public func reprice(_ fruit: String, cents: Int) throws {
        try queue.write { db in
            try db.execute(sql: "UPDATE fruit SET cents = ?", arguments: [cents])  // line: repriced
        }
    }

    /// Returns the price of a fruit.
    ///
    /// - Parameter fruit: Its name.
    /// - Returns: The price of a kilo.
    /// - Throws: An error of the store.
    public func price(of fruit: String) throws -> Int? {
        try integer("SELECT cents FROM fruit WHERE name = ?", [fruit])
    }

    /// Returns the amount of all fruit.
    ///
    /// - Returns: The amount in kilos.
    /// - Throws: An error of the store.
    public func stock() throws -> Int? {
        try integer("SELECT sum(kilos) FROM fruit")
    }

    /// Returns the amount of the fruits that are cheap: up to a price, but the query leaves out that price.
    ///
    /// - Parameter cents: The highest price.
    /// - Returns: The amount in kilos.
    /// - Throws: An error of the store.
    public func stock(upTo cents: Int) throws -> Int? {
        try integer("SELECT sum(kilos) FROM fruit WHERE cents < ?", [cents])
    }

    /// Returns the price of some kilos with tax, which is wrongly cut and not rounded.
    ///
    /// - Parameters:
    ///   - fruit: The name.
    ///   - kilos: The amount.
    /// - Returns: The price in cents.
    /// - Throws: An error of the store.
    public func priceWithTax(of fruit: String, kilos: Int) throws -> Int? {
        try price(of: fruit).map { $0 * kilos * 107 / 100 }
    }

    /// Returns the number of pairs of fruits with different prices, in a slow way.
    ///
    /// - Returns: The number.
    /// - Throws: An error of the store.
    public func pairs() throws -> Int? {
        try integer(
            """
            SELECT count(*) FROM fruit AS a JOIN fruit AS b ON a.cents < b.cents
            WHERE a.name LIKE '%a%' OR b.kilos > 30
            """)
    }
}

import Ledger

/// An address book on the C interface, whose schema has a version number.
final class AddressBook {
    let store: Connection

    init(path: String, journalMode: Connection.JournalMode) throws {
        store = try Connection(path: path, journalMode: journalMode)
        try store.run("PRAGMA foreign_keys = ON")
    }

    /// Upgrades the store.
    func upgrade(to version: Int) throws {
        let steps = [version1, version2, version3, version4, version5, version6]
        let current = try store.scalar("PRAGMA user_version").int ?? 0
        guard current < version else { return }
        for step in current..<version {
            try store.transaction {
                try steps[step]()
                try store.run("PRAGMA user_version = \(step + 1)")
            }
        }
    }

    private func version1() throws {
        try store.run(
            """
            CREATE TABLE person (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL, nickname TEXT, city TEXT, rating INTEGER);
            CREATE TABLE phone (
                id INTEGER PRIMARY KEY, number TEXT NOT NULL, kind TEXT NOT NULL,
                personID INTEGER NOT NULL REFERENCES person (id) ON DELETE CASCADE);
            """)
    }

    private func version2() throws {
        try store.run(
            """
            CREATE TABLE email (
                id INTEGER PRIMARY KEY, address TEXT NOT NULL,
                personID INTEGER NOT NULL REFERENCES person (id) ON DELETE CASCADE);
            CREATE INDEX email_address ON email (address);
            CREATE TABLE searchCache (term TEXT, personID INTEGER);
            """)
    }

    /// Gives up nicknames.
    private func version3() throws {
        try store.run("DELETE FROM searchCache")
        try store.run(
            """
            CREATE TABLE newPerson (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, rating INTEGER)
            """)
        try store.run("INSERT INTO newPerson SELECT id, name, city, rating FROM person")
        try store.run("DROP TABLE person")  // Culprit: testPhonesSurviveTheUpgrade
        try store.run("ALTER TABLE newPerson RENAME TO person")
    }

    /// Makes the city mandatory.
    private func version4() throws {
        try editSchema(  // Culprit: testCitiesAreRead
            of: "person", replacing: "city TEXT", by: "city TEXT NOT NULL DEFAULT ''")
    }

    /// Limits ratings.
    private func version5() throws {
        try editSchema(  // Culprit: testUnratedPerson
            of: "person", replacing: "rating INTEGER",
            by: "rating INTEGER CHECK (rating BETWEEN 1 AND 5)")
    }

    /// Makes the search for addresses independent of case.
    private func version6() throws {
        try editSchema(  // Culprit: testAddressCase
            of: "email", replacing: "address TEXT NOT NULL", by: "address TEXT NOT NULL COLLATE NOCASE")
    }

    /// Changes a table's declaration in place, which is faster than copying its rows.
    private func editSchema(of table: String, replacing old: String, by new: String) throws {
        let version = try store.scalar("PRAGMA schema_version").int ?? 0
        try store.run("PRAGMA writable_schema = ON")
        try store.execute(  // Culprit: testCitiesAreRead, testUnratedPerson, testAddressCase
            "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE type = 'table' AND name = ?",
            .text(old), .text(new), .text(table))
        try store.run("PRAGMA schema_version = \(version + 1)")
        try store.run("PRAGMA writable_schema = RESET")
    }
}

extension AddressBook {
    struct Person: Equatable {
        var name: String
        var city: String
    }

    enum ReadingError: Error, Equatable {
        case missingValue(column: String)
    }

    func add(_ name: String, city: String? = nil, rating: Int? = nil) throws {
        try store.execute(
            "INSERT INTO person (name, city, rating) VALUES (?, ?, ?)", .text(name),
            city.map { .text($0) } ?? .null, rating.map { .integer($0) } ?? .null)
    }

    func addPhone(_ number: String, _ kind: String, of person: Int) throws {
        try store.execute(
            "INSERT INTO phone (number, kind, personID) VALUES (?, ?, ?)", .text(number), .text(kind),
            .integer(person))
    }

    func addEmail(_ address: String, of person: Int) throws {
        try store.execute(
            "INSERT INTO email (address, personID) VALUES (?, ?)", .text(address), .integer(person))
    }

    func move(_ person: Int, to city: String) throws {
        try store.execute("UPDATE person SET city = ? WHERE id = ?", .text(city), .integer(person))
    }

    func rename(_ person: Int, to name: String) throws {
        try update(person) { $0.name = name }
    }

    /// Changes a person and stores all columns.
    private func update(_ id: Int, _ change: (inout Person) -> Void) throws {
        let rows = try store.query("SELECT name, city, rating FROM person WHERE id = ?", .integer(id))
        guard let row = rows.first, let name = row[0].string, let city = row[1].string else { return }
        var person = Person(name: name, city: city)
        change(&person)
        let rating = row[2].int
        try store.execute(  // Culprit: testUnratedPerson
            "UPDATE person SET name = ?, city = ?, rating = ? WHERE id = ?", .text(person.name),
            .text(person.city), rating.map { .integer($0) } ?? .null, .integer(id))
    }

    func phones(of person: Int) throws -> [String] {
        try store.query("SELECT number FROM phone WHERE personID = ? ORDER BY id", .integer(person))
            .compactMap { $0[0].string }
    }

    func people() throws -> [Person] {
        try store.query("SELECT name, city FROM person ORDER BY id").map { row in
            guard let name = row[0].string else { throw ReadingError.missingValue(column: "name") }
            guard let city = row[1].string else { throw ReadingError.missingValue(column: "city") }
            return Person(name: name, city: city)
        }
    }

    func owner(of address: String) throws -> String? {
        try store.query(
            """
            SELECT person.name FROM email JOIN person ON person.id = email.personID
            WHERE email.address = ?
            """, .text(address)
        ).first?[0].string
    }
}

/// The members of a dance studio, with their courses, payments and notes.
package final class Studio {
    private let connection: Connection

    package init(_ connection: Connection) throws {
        self.connection = connection
        try connection.run(
            """
            CREATE TABLE IF NOT EXISTS member (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT, level TEXT NOT NULL DEFAULT 'beginner',
                credit INTEGER NOT NULL DEFAULT 5000, visits INTEGER NOT NULL DEFAULT 0, edits INTEGER NOT NULL DEFAULT 0);
            CREATE TABLE IF NOT EXISTS attendance (
                id INTEGER PRIMARY KEY, memberID INTEGER NOT NULL REFERENCES member, course TEXT NOT NULL,
                minutes INTEGER NOT NULL CHECK (minutes > 0));
            CREATE TABLE IF NOT EXISTS payment (
                id INTEGER PRIMARY KEY, memberID INTEGER NOT NULL, name TEXT NOT NULL, cents INTEGER NOT NULL);
            CREATE TABLE IF NOT EXISTS note (
                id INTEGER PRIMARY KEY, memberID INTEGER NOT NULL REFERENCES member ON DELETE CASCADE, body TEXT NOT NULL);
            CREATE TABLE IF NOT EXISTS search (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE ON CONFLICT REPLACE);
            CREATE TRIGGER IF NOT EXISTS trim AFTER INSERT ON search BEGIN
                DELETE FROM search WHERE id <= NEW.id - 5;
            END;
            """)
    }

    // MARK: - Members

    package func join(_ name: String, email: String?) throws {
        try connection.execute(  // Culprit: testOldRows
            "INSERT INTO member (name, email) VALUES (?, ?)", .text(name), email.map(Value.text) ?? .null
        )
    }

    package func rename(_ id: Int, _ name: String) throws {
        try connection.execute("UPDATE member SET name = ? WHERE id = ?", .text(name), .integer(id))
    }

    /// Saves what a form shows, all fields at once.
    package func save(_ id: Int, name: String, email: String, level: String) throws {
        try connection.execute(
            "UPDATE member SET name = ?, email = ?, level = ?, edits = edits + 1 WHERE id = ?",
            .text(name), .text(email), .text(level), .integer(id))
    }

    package func setVisits(_ id: Int, _ visits: Int) throws {
        try connection.execute(
            "UPDATE member SET visits = ? WHERE id = ?", .integer(visits), .integer(id))
    }

    /// Visits are counted by year.
    package func beginYear() throws {
        try connection.execute("UPDATE member SET visits = 0")
    }

    /// Payments and attendances are kept, notes aren't.
    package func leave(_ id: Int) throws {
        try connection.execute("DELETE FROM member WHERE id = ?", .integer(id))
    }

    package func value(_ column: String, of id: Int) throws -> Value? {
        try connection.query("SELECT \(column) FROM member WHERE id = ?", .integer(id)).first?.first
    }

    // MARK: - Courses and payments

    package func attend(_ id: Int, _ course: String, minutes: Int) throws {
        try connection.execute(
            "INSERT INTO attendance (memberID, course, minutes) VALUES (?, ?, ?)",
            .integer(id), .text(course), .integer(minutes))
    }

    /// Books a payment and takes it from the credit.
    package func pay(_ id: Int, cents: Int) throws {
        try connection.run("BEGIN")
        try connection.execute(
            "INSERT INTO payment (memberID, name, cents) SELECT id, name, ? FROM member WHERE id = ?",
            .integer(cents), .integer(id))
        try connection.execute(
            "UPDATE member SET credit = credit - ? WHERE id = ?", .integer(cents), .integer(id))
        try connection.run("COMMIT")
    }

    package func write(_ body: String, about id: Int) throws {
        try connection.execute(
            "INSERT INTO note (memberID, body) VALUES (?, ?)", .integer(id), .text(body))
    }

    package func number(_ sql: String) throws -> Int? {
        try connection.scalar(sql).int
    }

    // MARK: - Searches

    package func search(_ term: String) throws {
        try connection.execute("INSERT INTO search (term) VALUES (?)", .text(term))
    }

    package func forgetSearches() throws {
        try connection.execute("DELETE FROM search")
    }

    // MARK: - Transactions

    package func begin() throws {
        try connection.run("BEGIN IMMEDIATE")  // Culprit: testDeskWaits, testBegins, testUpgrade
    }
    package func beginReading() throws { try connection.run("BEGIN") }
    package func members() throws -> Cursor {
        try connection.cursor("SELECT name FROM member ORDER BY id")
    }
    package func commit() throws { try connection.run("COMMIT") }
    package func rollBack() throws { try connection.run("ROLLBACK") }
}

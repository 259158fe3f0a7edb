import Foundation

/// The catalog and the loans of a public library, on the C interface.
final class Catalog {
    let connection: Connection

    init(path: String, journalMode: String = "wal") throws {
        connection = try Connection(path: path)
        try connection.execute("PRAGMA journal_mode = \(journalMode)")
        try connection.execute(
            """
            CREATE TABLE IF NOT EXISTS book (
                id INTEGER PRIMARY KEY, isbn TEXT NOT NULL UNIQUE, title TEXT NOT NULL, author TEXT,
                year INTEGER, withdrawnOn TEXT);
            CREATE TABLE IF NOT EXISTS copy (
                id INTEGER PRIMARY KEY, shelf TEXT NOT NULL,
                bookID INTEGER NOT NULL REFERENCES book (id) ON DELETE CASCADE);
            CREATE TABLE IF NOT EXISTS member (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT, cardID TEXT);
            CREATE TABLE IF NOT EXISTS loan (
                id INTEGER PRIMARY KEY, copyID INTEGER NOT NULL REFERENCES copy (id) ON DELETE CASCADE,
                memberID INTEGER NOT NULL REFERENCES member (id), takenOn TEXT NOT NULL,
                dueOn TEXT NOT NULL, returnedOn TEXT);
            CREATE TABLE IF NOT EXISTS reservation (
                id INTEGER PRIMARY KEY, bookID INTEGER NOT NULL REFERENCES book (id),
                memberID INTEGER NOT NULL REFERENCES member (id), day TEXT NOT NULL);
            CREATE TABLE IF NOT EXISTS searchCache (term TEXT NOT NULL, bookID INTEGER NOT NULL);
            CREATE VIEW IF NOT EXISTS openLoan AS SELECT * FROM loan WHERE returnedOn IS NULL;
            """)
        try connection.execute("DELETE FROM searchCache")
    }

    func addBook(_ isbn: String, _ title: String, by author: String, year: Int? = nil) throws {
        try connection.run(
            "INSERT INTO book (isbn, title, author, year) VALUES (:isbn, :title, :author, :year)",
            [
                ":isbn": .text(isbn.filter(\.isNumber)), ":title": .text(title),
                ":author": .text(author), ":year": Value(year),
            ])
    }

    /// Adds a book that a reader brought.
    func addDonation(_ isbn: String, _ title: String, by author: String, year: Int) throws {
        try connection.run(  // Culprit: findsBooksByNumber
            "INSERT INTO book (isbn, title, author, year) VALUES (:isbn, :title, :author, :year)",
            [
                ":isbn": .text(isbn), ":title": .text(title), ":author": .text(author),
                ":year": .integer(year),
            ])
    }

    /// Adds a record of another library, whose fields have names.
    func importRecord(_ fields: [String: String]) throws {
        try connection.run(  // Culprit: listsAllBooksOfAnAuthor
            "INSERT INTO book (isbn, title, author, year) VALUES (:isbn, :title, :author, :year)",
            [
                ":isbn": Value(fields["isbn"]?.filter(\.isNumber)), ":title": Value(fields["title"]),
                ":author": Value(fields["author"]), ":year": Value(fields["year"].flatMap { Int($0) }),
            ])
    }

    /// Replaces the description of a book.
    func correctBook(_ id: Int, isbn: String, title: String, author: String, year: Int) throws {
        try connection.run(  // Culprit: correctedBooksKeepTheirCopies
            """
            INSERT OR REPLACE INTO book (id, isbn, title, author, year)
            VALUES (:id, :isbn, :title, :author, :year)
            """,
            [
                ":id": .integer(id), ":isbn": .text(isbn), ":title": .text(title),
                ":author": .text(author), ":year": .integer(year),
            ])
    }

    /// Adds the volumes of a work, whose numbers are consecutive.
    func addVolumes(_ titles: [String], by author: String, firstNumber isbn: String) throws {
        let digits = isbn.filter(\.isNumber)
        guard let last = digits.last?.wholeNumberValue else { return }
        for (index, title) in titles.enumerated() {
            let number = String(digits.dropLast()) + String((last + index) % 10)
            try connection.run(  // Culprit: volumesAreAdded
                "INSERT INTO book (isbn, title, author) VALUES (:isbn, :title, :author)",
                [":isbn": .text(number), ":title": .text(title), ":author": .text(author)])
        }
    }

    /// Sets the year of publication as it was typed.
    func setYear(_ year: String, of book: Int) throws {
        try connection.run(  // Culprit: oldBooksAreListed
            "UPDATE book SET year = :year WHERE id = :id",
            [":year": .text(year), ":id": .integer(book)])
    }

    func titles(before year: Int) throws -> [String] {
        try connection.run(
            "SELECT title FROM book WHERE year < :year ORDER BY year", [":year": .integer(year)]
        ).compactMap { $0[0].text }
    }

    /// Moves the copies of a shelf to another one.
    ///
    /// - Returns: The number of copies.
    @discardableResult
    func relocate(_ shelf: String, to other: String) throws -> Int {
        try connection.execute("BEGIN")  // Culprit: desksAgreeOnShelves
        let copies = try connection.run(  // Culprit: desksAgreeOnShelves
            "UPDATE copy SET shelf = :other WHERE shelf = :shelf RETURNING bookID",
            [":other": .text(other), ":shelf": .text(shelf)])
        guard copies.count > 1 else { return copies.count }
        for copy in copies {
            try connection.run(
                "INSERT INTO searchCache VALUES (:shelf, :book)",
                [":shelf": .text(other), ":book": copy[0]])
        }
        try connection.execute("COMMIT")
        return copies.count
    }

    func withdrawBook(_ id: Int, on day: String) throws {
        try connection.run(
            "UPDATE book SET withdrawnOn = :day WHERE id = :id AND withdrawnOn IS NULL",
            [":day": .text(day), ":id": .integer(id)])
    }

    func addCopy(of book: Int, shelf: String) throws {
        try connection.run(
            "INSERT INTO copy (bookID, shelf) VALUES (:book, :shelf)",
            [":book": .integer(book), ":shelf": .text(shelf)])
    }

    func addMember(_ name: String, email: String? = nil, cardID: String? = nil) throws {
        try connection.run(
            "INSERT INTO member (name, email, cardID) VALUES (:name, :email, :card)",
            [":name": .text(name), ":email": Value(email), ":card": Value(cardID)])
    }

    func title(isbn: String) throws -> String? {
        try connection.run("SELECT title FROM book WHERE isbn = :isbn", [":isbn": .text(isbn)])
            .first?[0].text
    }

    func titles(by author: String) throws -> [String] {
        try connection.run(
            "SELECT title FROM book WHERE author = :author ORDER BY title", [":author": .text(author)]
        ).compactMap { $0[0].text }
    }

    func shelves(ofCopiesOf book: Int) throws -> [String] {
        try connection.run(
            "SELECT shelf FROM copy WHERE bookID = :book ORDER BY id", [":book": .integer(book)]
        ).compactMap { $0[0].text }
    }

    /// Returns pairs of books of the same author.
    func relatedBooks() throws -> [[String?]] {
        try connection.run(  // Culprit: relatedBooksAreFoundQuickly
            """
            SELECT one.title, other.title FROM book AS one JOIN book AS other
            ON lower(one.author) = lower(other.author) AND one.id < other.id
            """
        ).map { row in row.map(\.text) }
    }
}

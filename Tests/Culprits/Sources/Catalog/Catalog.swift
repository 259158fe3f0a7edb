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

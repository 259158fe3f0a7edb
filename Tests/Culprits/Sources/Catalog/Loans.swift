import Foundation

struct Loan: Equatable {
    var id: Int
    var copyID: Int
    var takenOn: String
    var dueOn: String
}

extension Catalog {
    func lend(_ copy: Int, to member: Int, on day: String) throws {
        try connection.run(
            """
            INSERT INTO loan (copyID, memberID, takenOn, dueOn)
            VALUES (:copy, :member, :day, date(:day, '+21 days'))
            """, [":copy": .integer(copy), ":member": .integer(member), ":day": .text(day)])
    }

    /// Takes a copy back.
    func takeBack(_ copy: Int, on day: String) throws {
        try connection.run(  // Culprit: returnedCopiesAreNoLongerOnLoan
            "UPDATE loan SET returnedOn = :day WHERE id = :id AND returnedOn IS NULL",
            [":day": .text(day), ":id": .integer(copy)])
    }

    /// Takes back all copies that a member has.
    func takeBackAll(of member: Int, on day: String) throws {
        try connection.run(
            "UPDATE loan SET returnedOn = :day WHERE memberID = :member AND returnedOn IS NULL",
            [":day": .text(day), ":member": .integer(member)])
    }

    /// Takes back the overdue copies of a member, wherever they are shelved.
    func takeBackOverdue(of member: Int, on day: String) throws {
        try connection.run(  // Culprit: overdueCopiesOfAMember
            """
            UPDATE loan SET returnedOn = :day
            WHERE memberID = :member AND dueOn < :day
            OR copyID IN (SELECT id FROM copy WHERE shelf = 'Annex')
            """, [":member": .integer(member), ":day": .text(day)])
    }

    /// Extends a loan by two weeks.
    func renew(_ loan: Int) throws {
        try connection.run(  // Culprit: renewedLoansAreDueTwoWeeksLater
            "UPDATE loan SET dueOn = date(takenOn, '+14 days') WHERE id = :id", [":id": .integer(loan)])
    }

    func openLoans(of member: Int) throws -> [Loan] {
        try connection.run(
            "SELECT id, copyID, takenOn, dueOn FROM openLoan WHERE memberID = \(member) ORDER BY id"
        ).map { row in
            Loan(
                id: row[0].integer ?? 0, copyID: row[1].integer ?? 0, takenOn: row[2].text ?? "",
                dueOn: row[3].text ?? "")
        }
    }

    /// Returns the member who has had a copy for longest.
    func nextReminder(on day: String) throws -> String? {
        try connection.first(  // Culprit: bothDesksTakeBooksBack
            """
            SELECT member.name FROM loan JOIN member ON member.id = loan.memberID
            WHERE loan.returnedOn IS NULL AND loan.dueOn < :day ORDER BY loan.id
            """, [":day": .text(day)])?[0].text
    }

    /// Reserves a book and tells the member, with a second attempt if something goes wrong.
    func reserve(_ book: Int, for member: Int, on day: String, notify: (Int) throws -> Void) throws {
        try retrying {
            try connection.run(  // Culprit: reservationsAreCounted
                "INSERT INTO reservation (bookID, memberID, day) VALUES (:book, :member, :day)",
                [":book": .integer(book), ":member": .integer(member), ":day": .text(day)])
            try notify(member)
        }
    }

    func reservations(of book: Int) throws -> Int {
        try connection.run(
            "SELECT count(*) FROM reservation WHERE bookID = :book", [":book": .integer(book)]
        ).first?[0].integer ?? 0
    }

    private func retrying(_ body: () throws -> Void) throws {
        do { try body() } catch { try body() }
    }
}

/// The rules for fees and reminders.
enum Rules {
    /// Returns the fee for a loan, in cents: 20 per day, at most 10 euros.
    static func fee(daysLate: Int) -> Int {
        daysLate > 30 ? 1_000 : daysLate * 20
    }

    /// Returns the text on the spine of a copy.
    static func label(shelf: String, author: String) -> String {
        "\(shelf) \(author.split(separator: " ").last?.prefix(3) ?? "")".uppercased()
    }
}

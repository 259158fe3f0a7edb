import Foundation
import Testing

@testable import Catalog

@Suite struct BookTests {
    // Expected: book id=7
    @Test func findsBooksByNumber() throws {
        let catalog = try Town().catalog
        try catalog.addBook("978-1-85723-138-0", "Consider Phlebas", by: "Iain M. Banks", year: 1987)
        try catalog.addDonation(
            "978-0-441-47812-5", "The Left Hand of Darkness", by: "Ursula K. Le Guin", year: 1969)
        try catalog.addCopy(of: 7, shelf: "L1")
        try catalog.addBook("978-0-7653-4629-2", "Hyperion", by: "Dan Simmons", year: 1989)
        try catalog.lend(8, to: 1, on: "2026-03-09")
        try catalog.withdrawBook(5, on: "2026-03-10")

        #expect(try catalog.title(isbn: "9780765346292") == "Hyperion")
        #expect(try catalog.title(isbn: "9780441478125") == "The Left Hand of Darkness")
    }

    // Expected: book id=9
    @Test func listsAllBooksOfAnAuthor() throws {
        let catalog = try Town().catalog
        let numbers = ["9780575079038", "9780261102217", "9780552134620", "9780575048645"]
        let titles = ["The Dispossessed", "The Hobbit", "Mort", "Pyramids"]
        let authors = ["Ursula K. Le Guin", "J. R. R. Tolkien", "Terry Pratchett", "Terry Pratchett"]
        for index in 0..<4 {
            try catalog.importRecord([
                "isbn": numbers[index], "title": titles[index], "year": "19\(74 + index * 4)",
                (index == 3 ? "creator" : "author"): authors[index],
            ])
            try catalog.addCopy(of: 6 + index, shelf: "F\(index)")
        }
        try catalog.importRecord([
            "isbn": "978-0-552-15267-9", "title": "Going Postal", "author": "Terry Pratchett",
            "year": "2004",
        ])
        try catalog.withdrawBook(7, on: "2026-03-11")

        #expect(try catalog.titles(by: "Terry Pratchett").count == 3)
    }

    // Expected: copy id=2; copy id=3; loan id=3
    @Test func correctedBooksKeepTheirCopies() throws {
        let catalog = try Town().catalog
        try catalog.lend(3, to: 1, on: "2026-03-05")
        try catalog.correctBook(
            2, isbn: "9780141439587", title: "Emma", author: "Jane Austen", year: 1816)
        try catalog.addBook("978-0-14-143966-2", "Sense and Sensibility", by: "Jane Austen", year: 1811)
        try catalog.addCopy(of: 6, shelf: "A6")
        try catalog.addMember("Dora", email: "dora@example.com")

        #expect(try catalog.titles(by: "Jane Austen").count == 3)
        #expect(try catalog.shelves(ofCopiesOf: 2) == ["A2", "Annex"])
    }

    // Expected: lines
    @Test func relatedBooksAreFoundQuickly() throws {
        let catalog = try Town().catalog
        try catalog.connection.execute("BEGIN")
        for number in 1...600 {
            let isbn = String(9_791_000_000_000 + number)
            try catalog.addBook(isbn, "Volume \(number)", by: "Author \(number % 290)")
        }
        try catalog.connection.execute("COMMIT")
        try catalog.addCopy(of: 100, shelf: "Stack")
        try catalog.withdrawBook(3, on: "2026-03-12")

        catalog.connection.limitWork(to: 500_000)
        let pairs = (try? catalog.relatedBooks()) ?? []
        #expect(pairs.count == 331)
    }

    // Expected: book id=9
    @Test func volumesAreAdded() throws {
        let catalog = try Town().catalog
        try catalog.addCopy(of: 5, shelf: "A9")
        try catalog.withdrawBook(4, on: "2026-03-14")
        try catalog.addVolumes(
            ["Swann's Way", "In the Shade", "The Guermantes Way"], by: "Marcel Proust",
            firstNumber: "978-0-14-243796-4")
        try catalog.lend(6, to: 3, on: "2026-03-15")
        let months = ["January", "February", "March", "April", "May", "June", "July", "August"]
        try catalog.addVolumes(
            months + ["September", "October", "November"], by: "Almanac",
            firstNumber: "979-0-00-000100-4")
        #expect(try catalog.titles(by: "Almanac").count == 11)
    }

    // Expected: book id=7
    @Test func oldBooksAreListed() throws {
        let catalog = try Town().catalog
        for (index, title) in ["Persuasion", "Beowulf", "Middlemarch", "Villette"].enumerated() {
            try catalog.addBook("97801414395\(20 + index)", title, by: "Various", year: 1_800)
            try catalog.addCopy(of: 6 + index, shelf: "V\(index)")
        }
        try catalog.setYear("1817", of: 6)
        try catalog.setYear("c. 1000", of: 7)
        try catalog.setYear("1871", of: 8)
        try catalog.setYear("1853", of: 9)
        try catalog.addMember("Dora")
        #expect(try catalog.titles(before: 1_850).first == "Beowulf")
    }

    // Expected: copy id=4
    @Test func desksAgreeOnShelves() throws {
        let town = try Town()
        let entrance = try Town.openCatalog(town.path)
        try town.catalog.relocate("Annex", to: "Cellar")
        try entrance.addMember("Emil", email: "emil@example.com")
        try town.catalog.lend(5, to: 1, on: "2026-03-16")
        try entrance.addCopy(of: 5, shelf: "Annex")
        try town.catalog.relocate("A3", to: "Cellar")
        let seen = try entrance.shelves(ofCopiesOf: 3)
        #expect(try town.catalog.shelves(ofCopiesOf: 3) == ["Cellar"])
        #expect(seen == ["Cellar"])
    }

    // Expected: nothing
    @Test func labelsOfCopies() throws {
        let catalog = try Town().catalog
        try catalog.addBook("978-3-257-06333-2", "Die Physiker", by: "Friedrich Dürrenmatt", year: 1962)
        try catalog.addBook("978-3-518-45920-2", "Die Vermessung", by: "Hans Groß", year: 2005)
        try catalog.addCopy(of: 7, shelf: "G1")
        try catalog.withdrawBook(7, on: "2026-03-12")
        try catalog.withdrawBook(7, on: "2026-03-13")
        #expect(Rules.label(shelf: "d1", author: "Friedrich Dürrenmatt") == "D1 DÜR")
        #expect(Rules.label(shelf: "g1", author: "Hans Groß") == "G1 GROSS")
    }

    // Expected: nothing
    @Test func coversAreDownloaded() async throws {
        let catalog = try Town().catalog
        try catalog.addBook("978-0-575-07903-8", "The Dispossessed", by: "Ursula K. Le Guin")
        try catalog.addCopy(of: 6, shelf: "L2")
        try catalog.connection.execute("INSERT INTO searchCache VALUES ('le guin', 6), ('le guin', 6)")
        try catalog.connection.execute("DELETE FROM searchCache")
        try await downloadCover(of: "9780575079038")
        #expect(try catalog.titles(by: "Ursula K. Le Guin") == ["The Dispossessed"])
    }

    private func downloadCover(of isbn: String) async throws {
        struct Offline: Error, CustomStringConvertible {
            var description: String { "The Internet connection appears to be offline." }
        }
        throw Offline()
    }
}

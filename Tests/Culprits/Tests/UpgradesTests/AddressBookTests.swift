import Foundation
import Stores
import XCTest

@testable import Upgrades

/// Upgrades of an address book on the C interface.
final class AddressBookTests: StoreTestCase {
    // Expected: phone id=1; phone id=2; phone id=3; phone id=4; email id=1; email id=2
    func testPhonesSurviveTheUpgrade() throws {
        let book = try book(version: 2)
        try addPeople(to: book)
        try book.addPhone("030 1234", "home", of: 1)
        try book.addPhone("0170 555", "mobile", of: 1)
        try book.addPhone("040 98 76", "work", of: 3)
        try book.addPhone("0151 222", "mobile", of: 6)
        try book.addEmail("anna@example.com", of: 1)
        try book.addEmail("hugo@example.com", of: 8)

        try book.upgrade(to: 3)
        try book.move(2, to: "Bremen")
        try book.rename(4, to: "Dora Diaz")

        XCTAssertEqual(try book.people().count, 8)
        XCTAssertEqual(try book.phones(of: 1), ["030 1234", "0170 555"])
    }

    // Expected: person id=9
    func testCitiesAreRead() throws {
        let book = try book(version: 3)
        try addPeople(to: book)
        try book.addPhone("030 1234", "home", of: 1)
        try book.add("Ida Ito")
        try book.add("Jon Jonas", city: "Malmö")

        try book.upgrade(to: 4)
        try book.add("Kim Koch", city: "Basel", rating: 4)
        try book.addEmail("kim@example.com", of: 11)

        XCTAssertEqual(try book.people().last?.city, "Basel")
    }

    // Expected: person id=9
    func testUnratedPerson() throws {
        let book = try book(version: 4)
        try addPeople(to: book)
        try book.add("Ida Ito", city: "Oslo", rating: 0)
        try book.addPhone("22 33 44", "home", of: 9)
        try book.move(9, to: "Bergen")

        try book.upgrade(to: 5)
        try book.add("Jon Jonas", city: "Malmö", rating: 5)
        try book.rename(1, to: "Anna Abel-Adams")
        try book.rename(9, to: "Ida Itō")
        XCTAssertEqual(try book.people()[8].name, "Ida Itō")
    }

    // Expected: email id=2; email id=4; email id=6
    func testAddressCase() throws {
        let book = try book(version: 5)
        try addPeople(to: book)
        let addresses = [
            "Zoe@example.com", "anna@example.com", "Ben@example.com", "carla@example.com",
            "Dora@example.com", "emil@example.com", "Fatma@example.com",
        ]
        for (index, address) in addresses.enumerated() {
            try book.addEmail(address, of: index + 1)
        }
        XCTAssertEqual(try book.owner(of: "Zoe@example.com"), "Anna Abel")

        try book.upgrade(to: 6)
        try book.move(7, to: "Ulm")
        try book.addPhone("0731 11", "work", of: 7)

        XCTAssertEqual(try book.owner(of: "Anna@example.com"), "Ben Bauer")
    }

    // Expected: nothing
    func testPeopleAreSorted() throws {
        let book = try book(version: 2)
        try addPeople(to: book)
        try book.store.execute("INSERT INTO searchCache VALUES ('ab', 1), ('ab', 3), ('ab', 1)")
        try book.store.execute("UPDATE person SET nickname = 'Benny' WHERE id = ?", .integer(2))
        try book.upgrade(to: 3)
        try book.add("Aaron Acker", city: "Kiel")
        try book.move(12, to: "Nowhere")

        XCTAssertEqual(try book.people().first?.name, "Aaron Acker")
    }

    private func book(version: Int) throws -> AddressBook {
        let kind = StoreKind.current
        let book = try AddressBook(
            path: kind.path(path("people.db")), journalMode: kind == .wal ? .wal : .delete)
        try book.upgrade(to: version)
        return book
    }

    /// Adds eight people, two of them without a rating.
    private func addPeople(to book: AddressBook) throws {
        try book.add("Anna Abel", city: "Berlin", rating: 5)
        try book.add("Ben Bauer", city: "Hamburg", rating: 3)
        try book.add("Carla Conti", city: "Rome", rating: 4)
        try book.add("Dora Duda", city: "Warsaw")
        try book.add("Emil Eriksson", city: "Uppsala", rating: 2)
        try book.add("Fatma Fidan", city: "Izmir", rating: 5)
        try book.add("Gus Green", city: "Leeds")
        try book.add("Hugo Haas", city: "Graz", rating: 1)
    }
}

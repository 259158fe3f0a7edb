import Foundation
import Stores
import Testing

@testable import Catalog

/// The catalog of a small town with a dozen books.
struct Town {
    let path: String
    let catalog: Catalog

    init() throws {
        if let test = Test.current, let reason = try StoreKind.current.reasonToSkip(test.name) {
            try Test.cancel("\(reason)")
        }
        path = StoreKind.current.path(
            try StoreKind.freshDirectory().appendingPathComponent("catalog.sqlite").path)
        catalog = try Self.openCatalog(path)
        try catalog.addBook("978-0-14-143951-8", "Pride and Prejudice", by: "Jane Austen", year: 1813)
        try catalog.addBook("978-0-14-143958-7", "Emma", by: "Jane Austen", year: 1815)
        try catalog.addBook("978-0-14-144116-0", "Frankenstein", by: "Mary Shelley", year: 1818)
        try catalog.addBook("978-0-06-112008-4", "To Kill a Mockingbird", by: "Harper Lee", year: 1960)
        try catalog.addBook("978-0-441-17271-9", "Dune", by: "Frank Herbert")
        for book in 1...5 {
            try catalog.addCopy(of: book, shelf: "A\(book)")
            if book.isMultiple(of: 2) { try catalog.addCopy(of: book, shelf: "Annex") }
        }
        try catalog.addMember("Aiko", email: "aiko@example.com", cardID: "TL-0091")
        try catalog.addMember("Ben", email: "ben@example.com", cardID: "TL-0107")
        try catalog.addMember("Chidi", cardID: "TL-0230")
        try catalog.lend(1, to: 3, on: "2026-02-20")
        try catalog.lend(4, to: 2, on: "2026-03-02")
    }

    static func openCatalog(_ path: String) throws -> Catalog {
        try Catalog(path: path, journalMode: StoreKind.current.journalMode)
    }
}

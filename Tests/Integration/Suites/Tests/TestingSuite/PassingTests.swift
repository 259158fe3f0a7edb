import Foundation
import GRDB
import Synchronization
import Testing

/// The kilos of apples in the stores; 3 is too few.
private let kilos = Int(ProcessInfo.processInfo.environment["SUITE_KILOS"] ?? "") ?? 4

/// Tests that fail on one attempt and pass on another.
///
/// Their stores are closed at their end.
@Suite struct RetriedTests {
    private let database: DatabaseQueue

    init() throws {
        database = try DatabaseQueue(path: try freshPath("fruit.sqlite"))
        try database.write {
            try $0.execute(sql: "CREATE TABLE fruit (name TEXT PRIMARY KEY, kilos INTEGER)")
        }
    }

    private func plant(_ kilos: Int) throws {
        try database.write {
            try $0.execute(sql: "INSERT INTO fruit VALUES ('apple', ?), ('pear', 1)", arguments: [kilos])
        }
    }

    /// `fruit`: apple, pear.
    @Test func closed() throws {
        try plant(kilos)
        #expect(kilos != 3, "too little")
    }

    /// `fruit`: apple, pear.
    ///
    /// One of the two cases always passes.
    @Test(arguments: [1, 2]) func argument(_ number: Int) async throws {
        try plant(kilos)
        await Task.yield()
        #expect(number == 2 || kilos != 3, "too little")
    }

    /// Neither failed nor passed.
    @Test func cancelled() throws {
        try plant(kilos)
        try Test.cancel("not today")
    }

    /// Neither failed nor passed, although the test continues.
    @Test func cancelledAndGoesOn() throws {
        _ = try? Test.cancel("not today")
        try plant(kilos)
    }
}

private let attempts = Atomic(0)

/// `fruit`: apple, and on the second attempt in one process pear.
@Test private func twice() throws {
    let path = try freshPath("fruit.sqlite")
    let store = try Connection(path, fruit: "apple")
    let attempt = attempts.wrappingAdd(1, ordering: .relaxed).newValue
    #expect(attempt == 2, "the first time")
    if attempt == 2 { try store.add("pear") }
    store.close()
    try FileManager.default.removeItem(atPath: path)
}

import FailureArtifactsTestKit
import XCTest

/// Breaks an invariant of the directory that the environment names: there is no cherry.
final class InvariantTests: StoreTestCase<SQLiteTestStore> {
    override var content: StoreContent<SQLiteTestStore> {
        .script("CREATE TABLE fruit (name TEXT NOT NULL); INSERT INTO fruit VALUES ('apple')")
    }

    func testAssertion() throws {
        assertInvariants(of: store)
        try store.execute("INSERT INTO fruit VALUES ('cherry')")
        assertInvariants(of: store)
        try store.execute("DELETE FROM fruit")
    }
}

final class InvariantsAfterEachTests: StoreTestCase<SQLiteTestStore> {
    override var content: StoreContent<SQLiteTestStore> {
        .script("CREATE TABLE fruit (name TEXT NOT NULL)")
    }
    override var checksInvariants: Bool { true }

    func testBroken() throws { try store.execute("INSERT INTO fruit VALUES ('cherry')") }

    func testFulfilled() throws { try store.execute("INSERT INTO fruit VALUES ('apple')") }
}

import FailureArtifactsTestStores
import FailureArtifactsTestSupport
import FailureArtifactsTesting
import Foundation
import Testing

/// Opens a store in the temporary directory with one row for each name.
func openStore(_ name: String, _ rows: String...) throws -> ApplicationHandle {
    let file = FileManager.default.temporaryDirectory.appending(
        path: "\(name)-\(UUID().uuidString).sqlite")
    let store = try ApplicationHandle(file.path)
    CurrentTest.register(storeAt: file, named: name)
    try store.run("CREATE TABLE fruit (name TEXT)")
    for row in rows { try store.run("INSERT INTO fruit VALUES ('\(row)')") }
    return store
}

struct Rotten: Error, CustomStringConvertible {
    var description: String { "the fruit is rotten" }
}

struct Basket: Sendable, CustomTestStringConvertible {
    let count: Int
    var testDescription: String { "a basket of \(count)" }
}

@Suite(.inChildOnly, .failureArtifacts) struct FailingFixtures {
    @Test func expectation() throws {
        let store = try openStore("larder", "apple")
        #expect(Bool(false), "a comment")
        try store.run("INSERT INTO fruit VALUES ('plum')")
    }

    @Test func requirement() throws {
        let store = try openStore("larder", "apple")
        defer { store.close() }
        try #require(Bool(false))
    }

    @Test func thrownError() throws {
        let store = try openStore("larder", "apple")
        defer { store.close() }
        throw Rotten()
    }

    @Test(arguments: zip([1, 2, 3], [1, 0, 2].map(Basket.init)))
    func parameterized(number: Int, in basket: Basket) throws {
        let store = try openStore("larder", "\(number)")
        #expect(basket.count > 0)
        store.close()
    }

    @Suite(.failureArtifacts) struct Nested {
        @Test(.failureArtifacts) func severalTraits() throws {
            let store = try openStore("larder", "apple")
            Issue.record("once")
            store.close()
        }
    }
}

@Suite(.inChildOnly, .failureArtifacts) struct QuietFixtures {
    private let store: ApplicationHandle

    init() throws { store = try openStore("larder", "apple") }

    @Test func passes() throws { try store.run("INSERT INTO fruit VALUES ('plum')") }

    @Test func knownIssue() {
        withKnownIssue { Issue.record("known") }
    }

    @Test func knownError() {
        withKnownIssue { throw Rotten() }
    }

    @Test func warning() { Issue.record("only a warning", severity: .warning) }

    @Test func cancelled() throws { try Test.cancel("not today") }

    @Test(arguments: [1, 2]) func cancelledCase(_ number: Int) throws { try Test.cancel("not today") }

    @Test func cancelledWhileAChildTaskWaits() async throws {
        async let child: Void = Task.sleep(for: .seconds(600))
        _ = try? Test.cancel("not today")
        try await child
    }
}

/// Only one of the two has the trait.
@Suite(.inChildOnly) struct PartlyCoveredFixtures {
    @Test(.failureArtifacts) func covered() throws {
        let store = try openStore("larder", "apple")
        Issue.record("with the trait")
        store.close()
    }

    @Test func uncovered() throws {
        let store = try openStore("larder", "pear")
        Issue.record("without the trait")
        store.close()
    }
}

@Test(.inChildOnly, .failureArtifacts) func fixtureInNoSuite() { Issue.record("in no suite") }

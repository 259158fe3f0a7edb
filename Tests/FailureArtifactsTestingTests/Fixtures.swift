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

/// Opens a store for each test of a suite, or one for the whole suite, before the scopes of the traits after it begin.
struct StoreTrait: SuiteTrait, TestTrait, TestScoping {
    @TaskLocal static var store: ApplicationHandle?

    let isRecursive: Bool

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let store = try openStore("opened", "apple")
        defer { store.close() }
        try await Self.$store.withValue(store, operation: function)
    }
}

@Suite(.inChildOnly, StoreTrait(isRecursive: true), .failureArtifacts) struct StoreForTestFixtures {
    @Test func usesIt() throws {
        try StoreTrait.store?.run("INSERT INTO fruit VALUES ('pear')")
        Issue.record("uses the store")
    }

    @Test func usesNothing() { Issue.record("uses no store") }

    @Test(arguments: ["fig", "plum"]) func cases(_ fruit: String) throws {
        try StoreTrait.store?.run("INSERT INTO fruit VALUES ('\(fruit)')")
        Issue.record("uses the store")
    }
}

/// Fails before the test begins, with a store open.
struct FailingTrait: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let store = try openStore("larder", "apple")
        defer { store.close() }
        throw Rotten()
    }
}

@Suite(.inChildOnly, FailingTrait()) struct FailingTraitFixtures {
    @Test func neverRuns() {}
}

@Suite(.inChildOnly, StoreTrait(isRecursive: false), .serialized) struct StoreForSuiteFixtures {
    @Test func usesIt() throws {
        try StoreTrait.store?.run("INSERT INTO fruit VALUES ('pear')")
        Issue.record("uses the store")
    }

    @Suite struct Nested {
        @Test func usesNothing() { Issue.record("uses no store") }
    }

    @Test func passesToAnotherSuite() async {
        // The store is open, and was used, while the other test fails.
        await Meeting.shared.arrive()
        await Meeting.shared.arrive()
    }
}

@Suite(.inChildOnly) struct StoreOfAnotherSuiteFixtures {
    @Test func fails() async {
        await Meeting.shared.arrive()
        Issue.record("of another suite")
        await Meeting.shared.arrive()
    }
}

/// A meeting point for two tests.
private actor Meeting {
    static let shared = Meeting()
    private var waiting: CheckedContinuation<Void, Never>?

    /// Returns when the other test has called it, too.
    func arrive() async {
        if let waiting {
            self.waiting = nil
            waiting.resume()
        } else {
            await withCheckedContinuation { waiting = $0 }
        }
    }
}

import FailureArtifactsBundle
import FailureArtifactsSystem
import FailureArtifactsTestSupport
import FailureArtifactsTesting
import Testing

/// Tests of Swift Testing in child processes, and the bundles that they leave.
///
/// `test_testing.py` has more kinds of tests and failures.
@Suite(.enabled(if: ChildTestRun.isPossible)) struct FailureArtifactsTraitTests {
    private let fruits = "SELECT name FROM fruit ORDER BY rowid"

    /// Runs tests whose identifiers begin with a text.
    private func run(_ name: String) throws -> ChildTestRun {
        try ChildTestRun.run(.swiftTesting("^FailureArtifactsTestingTests\\.\(name)"))
    }

    /// Runs a failing test and returns its bundle.
    private func failing(_ name: String) throws -> CapturedBundle {
        let child = try run(name)
        #expect(child.status == 1, "\(child.output)")
        let bundles = try #require(try child.bundles(), "\(child.output)")
        try #require(bundles.count == 1, "\(child.output)")
        return bundles[0]
    }

    @Test func failureInTheScopeOfAnotherTraitLeavesABundle() throws {
        let bundle = try failing("FailingTraitFixtures/")
        #expect(bundle.messages == ["Caught error: the fruit is rotten"])
        #expect(try bundle.texts(fruits) == ["apple"])
    }

    @Test func storeThatATraitOpensForATestIsTheTests() throws {
        let child = try run("StoreForTestFixtures/")
        let bundles = try #require(try child.bundles(), "\(child.output)")
        let expected = [
            "usesIt": ["apple", "pear"], "usesNothing": ["apple"], "cases(_:)\"fig\"": ["apple", "fig"],
            "cases(_:)\"plum\"": ["apple", "plum"],
        ]
        #expect(bundles.count == expected.count, "\(child.output)")
        for bundle in bundles {
            let test = bundle.metadata.test
            let name = test.name + (test.arguments?.joined() ?? "")
            try #require(bundle.metadata.stores.count == 1, "\(name)")
            #expect(bundle.metadata.stores[0].shared == nil)
            #expect(try bundle.texts(fruits) == expected[name], "\(name)")
        }
        // Each case has a line of its own.
        for fruit in ["fig", "plum"] {
            let title = "StoreForTestFixtures.cases(_:)(\"\(fruit)\") failed. To find out why: "
            #expect(child.collectorLines.count { $0.contains(title) } == 1, "\(child.output)")
        }
    }

    @Test func storeThatATraitOpensForASuiteBelongsToTheTestsThatUseIt() throws {
        let child = try run("Store(ForSuite|OfAnotherSuite)Fixtures/")
        let bundles = try #require(try child.bundles(), "\(child.output)")
        #expect(bundles.map(\.metadata.test.name).sorted() == ["fails", "usesIt", "usesNothing"])
        for bundle in bundles {
            let isUser = bundle.metadata.test.name == "usesIt"
            #expect(bundle.metadata.stores.map(\.shared) == (isUser ? [true] : []))
        }
    }

    @Test func traitAppliesToNestedSuites() {
        #expect(FailureArtifactsTrait.failureArtifacts.isRecursive)
    }
}

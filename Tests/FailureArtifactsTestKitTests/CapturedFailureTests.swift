import FailureArtifactsBundle
import FailureArtifactsSQLite
import FailureArtifactsTestKit
import FailureArtifactsTestSupport
import Foundation
import Testing

/// Failing tests in child processes, and what they leave of the kit's stores.
@Suite(.enabled(if: ChildTestRun.isPossible)) struct CapturedFailureTests {
    private let fruitNames = "SELECT name FROM fruit ORDER BY rowid"

    /// Runs tests and checks that no store stays in the temporary directory.
    private func run(
        _ selection: ChildTestRun.Selection, _ variables: [String: String] = [:]
    ) throws -> ChildTestRun {
        let child = try ChildTestRun.run(selection, variables)
        #expect(try child.leftovers.isEmpty, "\(child.output)")
        return child
    }

    private func xctest(_ name: String) -> ChildTestRun.Selection {
        .xctest("FailureArtifactsTestKitTests.\(name)")
    }

    private func fixture(_ name: String) -> ChildTestRun.Selection {
        .swiftTesting("^FailureArtifactsTestKitTests\\.FailingKitFixtures/\(name)\\(")
    }

    /// Runs a failing test and returns its bundle.
    private func failing(
        _ selection: ChildTestRun.Selection, _ variables: [String: String] = [:]
    ) throws -> CapturedBundle {
        let child = try run(selection, variables)
        #expect(child.status == 1, "\(child.output)")
        let bundles = try #require(try child.bundles(), "\(child.output)")
        try #require(bundles.count == 1, "\(child.output)")
        return bundles[0]
    }

    @Test(arguments: StorePlacement.allCases) func storeIsInTheBundleByItsName(
        _ placement: StorePlacement
    ) throws {
        let variables = ["FAILURE_ARTIFACTS_TEST_STORES": placement.rawValue]
        let bundle = try failing(xctest("FailingStoreTests/testFails"), variables)
        let store = try #require(bundle.metadata.stores.first)
        #expect(store.storage == (placement == .onDisk ? .file : .memory))
        if placement != .atDevNull { #expect(store.name == "果物") }
        #expect(try bundle.texts(fruitNames) == ["apple"])
        let thrown = try failing(xctest("FailingStoreTests/testThrows"), variables)
        #expect(try thrown.texts(fruitNames) == ["apple"])
    }

    @Test func testWhoseStoreCannotBeOpenedDoesNotRun() throws {
        let bundle = try failing(xctest("FailingOpenTests"))
        #expect(bundle.messages.count == 1)
        #expect(bundle.messages[0].contains("could not be opened for the test"))
    }

    @Test func storeThatCannotBeClosedFailsTheTest() throws {
        let bundle = try failing(xctest("FailingCloseTests"))
        #expect(
            bundle.messages == ["failed - A store of the test could not be closed: the fruit is rotten."]
        )
    }

    /// Runs the tests of a class that prints what happens, and returns these lines.
    private func lines(of name: String, status: Int32) throws -> [String] {
        let child = try run(xctest(name))
        #expect(child.status == status, "\(child.output)")
        return child.output.split(separator: "\n").filter { $0.hasPrefix("\(name): ") }
            .map { String($0.dropFirst(name.count + 2)) }
    }

    @Test(arguments: ["RecordingTests", "RecordingSharedTests"])
    func choiceToStopAtTheFirstFailureIsMadeBeforeSetUpAndUndoneAfterwards(_ name: String) throws {
        #expect(
            try lines(of: name, status: 0) == [
                "setUp", "continueAfterFailure = true", "continueAfterFailure = false", "setUp",
                "continueAfterFailure = true",
            ])
    }

    @Test func xctestOnLinuxGoesOnAfterTheFirstFailure() throws {
        #expect(try lines(of: "StoppingTests", status: 1) == ["tearDown integer(0)"])
        let bundle = try failing(xctest("StoppingTests"))
        #expect(bundle.messages == ["failed - first", "failed - second"])
        #expect(try bundle.texts(fruitNames) == ["apple"])
    }

    @Test func testsThatChangeASharedStoreFailByTheirNames() throws {
        let child = try run(xctest("LeakingTests"))
        #expect(child.testCount == 4, "\(child.output)")
        let bundles = try #require(try child.bundles(), "\(child.output)")
        #expect(bundles.map(\.metadata.test.name) == ["testALeavesARow", "testCHasFailedAlready"])
        #expect(
            bundles.map(\.messages) == [
                [
                    "failed - LeakingTests.testALeavesARow left the shared store 'lines' changed: "
                        + "line: 1 row inserted."
                ],
                ["failed - before the leak"],
            ])
    }

    @Test func changeOfASharedStoreFailsASwiftTest() throws {
        let bundle = try failing(fixture("leak"))
        #expect(
            bundle.messages == [
                "Caught error: FailingKitFixtures.leak left the shared store 'shared' changed: "
                    + "fruit: 1 row deleted."
            ])
    }

    @Test func sharedStoreIsCapturedWhereTheErrorIsThrown() throws {
        let bundle = try failing(fixture("thrownInASharedStore"))
        #expect(bundle.metadata.snapshots?.map(\.label) == ["thrown"])
        #expect(try bundle.texts(fruitNames, in: "thrown/shared") == ["apple", "pear"])
    }

    @Test(arguments: ["closedStore", "thrownError"])
    func storeOfAClosureIsInTheBundle(_ name: String) throws {
        for placement in ["disk", "memory"] {
            let bundle = try failing(fixture(name), ["FAILURE_ARTIFACTS_TEST_STORES": placement])
            #expect(try bundle.texts(fruitNames) == ["apple"])
        }
    }

    @Test func migrationLeavesAStoreForEachVersionAndTheDifference() throws {
        let bundle = try failing(fixture("migration"))
        #expect(Set(bundle.metadata.stores.map(\.name)) == ["App_V1", "App_V2"])
        #expect(try bundle.texts("SELECT count(*) FROM fruit", in: "App_V2") == ["3"])
        let text = try bundle.content(ofEntry: "attachments/App_V1_to_App_V2.diff.txt")
        #expect(
            String(decoding: text, as: UTF8.self) == """
                App V1 -> App V2

                fruit: 2 rows inserted

                """)
    }

    @Test func placementIsReadFromTheEnvironment() throws {
        for (value, placement) in [("memory", "memory"), ("null", "null"), ("", "disk")] {
            let child = try run(xctest("PlacementTests"), ["FAILURE_ARTIFACTS_TEST_STORES": value])
            #expect(child.output.contains("The placement is '\(placement)'."))
            #expect(!child.output.contains("warning"))
        }
        let child = try run(xctest("PlacementTests"), ["FAILURE_ARTIFACTS_TEST_STORES": "tape"])
        #expect(child.output.contains("The placement is 'disk'."))
        #expect(
            child.output.contains(
                "failure-artifacts: warning: FAILURE_ARTIFACTS_TEST_STORES is 'tape', which is not one of "
                    + "disk, memory, null; 'disk' is used instead.\n"))
    }

    // MARK: Captured states

    @Test func capturedStatesAreContentOfNewStores() throws {
        let child = try run(fixture("history"))
        let captured = try #require(try child.bundles()?.first, "\(child.output)")
        let bundle = URL(filePath: captured.path)
        func names(
            _ state: CapturedState, store: String? = nil, placement: StorePlacement = .onDisk
        ) throws -> SQLiteValue {
            try withTestStore(
                SQLiteTestStore.self, .restored(from: bundle, store: store, at: state),
                placement: placement
            ) { try $0.value("SELECT group_concat(name) FROM fruit") }
        }
        for placement in StorePlacement.allCases {
            #expect(try names(.failure, placement: placement) == "apple,pear,plum,fig")
        }
        #expect(try names(.failure, store: "fruits.committed") == "apple,pear,plum")
        #expect(throws: TestStoreError.self) { try names(.commit(0)) }
        #expect(try names(.commit(1), store: "fruits") == nil)
        #expect(try names(.commit(2)) == "apple")
        #expect(try names(.commit(-2)) == "apple,pear")
        #expect(try names(.commit(-1)) == "apple,pear,plum")
        expectError(.cannotStart, "'nuts'") { _ = try names(.failure, store: "nuts") }
        #expect(throws: TestStoreError.self) { try names(.commit(5)) }
        expectError(.cannotStart, "'/nowhere.zip'") {
            _ = try SQLiteTestStore.restored(from: URL(filePath: "/nowhere.zip"))
        }
        let store = try SQLiteTestStore.restored(from: bundle, store: "fruits", at: .commit(3))
        #expect(try store.value("SELECT count(*) FROM fruit") == 2)
        store.close()

        let restored = try failing(fixture("restored"), ["KIT_TESTS_BUNDLE": captured.path])
        #expect(try restored.texts(fruitNames) == ["pear", "plum"])
    }
}

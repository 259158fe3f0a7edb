import FailureArtifactsBundle
import FailureArtifactsSQLite
import FailureArtifactsTestKit
import FailureArtifactsTestSupport
import Foundation
import Testing

/// Failing tests in child processes, and what they leave of the kit's stores.
///
/// `test_kit.py` has more kinds of failures.
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

internal import CFailureArtifactsCapture
internal import FailureArtifactsBundle

/// The tests of the process that have started, and those of them that have not ended.
struct RunningTests {
    /// The number of starts of each test.
    private var attempts: [String: Int] = [:]
    /// The number of tests that were started.
    private var count: TestID = 0
    /// The test that runs alone.
    private(set) var current: RunningTest?
    /// The last tests that were started, oldest first.
    private var started: [InFlightList.Test] = []
    /// The other tests that have not ended, and those suites.
    private var running: [TestID: RunningTest] = [:]
    /// The tests that have ended and left stores open.
    private var endedOpeners: [TestID: BundleMetadata.Store.Opener] = [:]
    /// True if some tests don't run alone.
    ///
    /// Only such tests have a task.
    private(set) var hasTasks = false

    /// The tests that have not ended.
    var all: [RunningTest] { running.values + [current].compactMap(\.self) }

    /// Returns the numbers of a test that starts: its own, and that of its attempt.
    mutating func number(of key: String) -> (id: TestID, attempt: Int) {
        count += 1
        let attempt = attempts[key, default: 0] + 1
        attempts[key] = attempt
        return (count, attempt)
    }

    /// Returns the test with a number, if it has not ended.
    func test(_ id: TestID) -> RunningTest? {
        if let current, current.id == id { return current }
        return running.isEmpty ? nil : running[id]
    }

    func isRunning(_ id: TestID) -> Bool { test(id) != nil }

    /// Returns the identity of the test with a number, if it has not ended or has left stores open.
    func opener(_ id: TestID) -> BundleMetadata.Store.Opener? {
        test(id).map { .init($0.identity) } ?? endedOpeners[id]
    }

    /// Returns the tests with these numbers, as far as they are known; nil if none is.
    func numbered(_ numbers: Set<TestID>) -> [BundleMetadata.NumberedTest]? {
        let found = started.filter { numbers.contains($0.id) }
        return found.isEmpty ? nil : found.map { .init(id: $0.id, $0.identity) }
    }

    /// Tells the recorder of statements which test runs alone.
    private func noteTurn() {
        let only = running.count == 1 ? running.values.first?.id : nil
        failure_artifacts_test_is_alone(current?.id ?? only ?? 0)
    }

    /// The number of started tests whose names are remembered, for statements that they ran.
    private static let maximumStarted = 2000

    mutating func add(_ test: RunningTest, isSuite: Bool = false) {
        defer { noteTurn() }
        started.append(test.listed)
        if started.count == 2 * Self.maximumStarted { started.removeFirst(Self.maximumStarted) }
        if isSuite {
            running[test.id] = test
            return
        }
        guard test.isAlone else {
            running[test.id] = test
            hasTasks = true
            return
        }
        if let current { running[current.id] = current }
        current = test
    }

    mutating func remove(_ test: RunningTest, leavesStores: Bool) {
        if current === test { current = nil } else { running[test.id] = nil }
        if leavesStores { endedOpeners[test.id] = .init(test.identity) }
        noteTurn()
    }
}

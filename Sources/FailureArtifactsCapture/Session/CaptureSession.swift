internal import CFailureArtifactsCapture
internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The connection between adapters and capture: turns the reports of a test framework into bundles.
///
/// It never throws into a test, and waits only for a bounded time. It reports problems in the bundle and on standard
/// error. It can be used from any thread.
///
/// Code that runs for every test and every store, failing or not, skips what most tests don't have. In a debug build, each
/// access to a `Set` or a `Dictionary` takes a thousand instructions. It reads the state by closures, because a key path
/// copies the whole state there.
package final class CaptureSession: Sendable {
    struct State {
        var configuration: CaptureConfiguration
        var tests = RunningTests()
        var output: OutputDirectory
        /// The list that other processes read if this one dies; nil only before the session is configured.
        var inFlight: InFlightList?
        /// Fails the caller's test; nil if the adapter to Swift Testing isn't linked.
        var recordIssue: (@Sendable (_ message: String, _ file: String, _ line: Int) -> Bool)?
        /// The statements of passing tests; nil if they are not recorded.
        var passing: PassingStatements?
        /// Closures that return the stores known to adapters.
        var sources: [@Sendable () -> [AdapterStore]] = []
        /// The tests that have failed before, as far as bundles tell.
        var earlierFailures = EarlierFailures()
        /// The messages already written to standard error.
        ///
        /// Some apply to every failure of a run.
        var said: Set<String> = []

        init(_ configuration: CaptureConfiguration) {
            self.configuration = configuration
            output = OutputDirectory(configuration.directoryPath)
        }
    }

    let state: Lock<State>
    /// The suites that have failed outside of their tests, and have not ended, by their names.
    ///
    /// Locked while a suite is looked up and added: several threads may report its first failure.
    let suites = Lock<[String: RunningTest]>([:])
    /// Held while the configuration changes.
    private let configuring = Lock(())
    let registry = ConnectionRegistry.shared
    /// The queue that packs what tests have staged.
    ///
    /// When more tests fail than the queue can pack, they wait for it. This limits the disk space used beyond the
    /// bundles.
    let packing = BackgroundQueue(maximumWaiting: 8)

    package init(configuration: CaptureConfiguration) {
        state = Lock(State(configuration))
        configure(configuration)
    }

    package var configuration: CaptureConfiguration { state.withLock { $0.configuration } }

    private var isOff: Bool { state.withLock { $0.configuration.mode == .off } }

    var output: OutputDirectory { state.withLock(\.output) }

    /// The directory of bundles at its currently known path, for code that writes to it.
    var artifactsDirectory: ArtifactsDirectory {
        state.withLock { $0.configuration.artifactsDirectory(at: $0.output.path) }
    }

    /// Changes the configuration that applies from now on.
    package func configure(_ configuration: CaptureConfiguration) {
        configuring.withLock { _ in
            let (old, known) = state.withLock { state in
                defer { state.configuration = configuration }
                return (state.configuration, state.inFlight)
            }
            let list: InFlightList
            if let known, old.directoryPath == configuration.directoryPath {
                list = known
            } else {
                known?.close()
                let output = OutputDirectory(configuration.directoryPath)
                list = InFlightList(in: output) {
                    RunEnvironment.describe(variables: ProcessEnvironment.variables)
                }
                state.withLock { ($0.output, $0.inFlight) = (output, list) }
            }
            let rules = configuration.redactionRules
            list.setRedactions(rules.isEmpty ? nil : rules.recordText)
            if rules == old.redactionRules { return }
            for test in state.withLock({ $0.tests.all }) {
                // Another thread may be making a copy. The next addition to the capture applies the rules, too.
                test.capture.withLockIfAvailable { stage in
                    guard case .open(var capture) = stage else { return }
                    capture.add { _ in }
                    stage = .open(capture)
                }
            }
        }
        let baseline = configuration.baselineDirectory
        failure_artifacts_baseline_turn(baseline != nil)
        state.withLock { state in
            if state.passing?.directory.path != baseline?.path {
                state.passing = baseline.map(PassingStatements.init)
            }
        }
        guard configuration.watchesStores else { return }
        registry.configureLog(
            statements: configuration.maximumStatements, values: configuration.recordsBoundValues,
            stacks: configuration.recordsSourceLines, histories: configuration.maximumHistoryBytes > 0,
            // Several processes may write to the directory at the same time.
            historyBytes: configuration.maximumTotalBytes / 32,
            freeBytes: max(
                configuration.minimumFreeBytes, configuration.minimumFreeBytes &+ (16 << 20)))
        failure_artifacts_set_decrypts(configuration.decryptsStores)
        registry.install(observer: self)
    }

    /// Tells tests by their tasks from now on.
    package func testsWillHaveTasks() {
        registry.followTasks()
    }

    /// Lets code that imports no test framework fail tests of Swift Testing.
    ///
    /// `record` fails the caller's test, or returns false if the caller runs in none.
    package func recordIssues(
        by record: @escaping @Sendable (_ message: String, _ file: String, _ line: Int) -> Bool
    ) {
        state.withLock { $0.recordIssue = record }
    }

    /// Fails the caller's test of Swift Testing; returns false if it runs in none, or the adapter isn't linked.
    package func recordIssue(_ message: String, file: String, line: Int) -> Bool {
        // Called without the lock, because the issue leads to a capture.
        let record = state.withLock(\.recordIssue)
        return record?(message, file, line) ?? false
    }

    /// Adds a source of stores known to an adapter, which are captured too.
    ///
    /// It is called at each failure, on the thread of the failure.
    package func addSource(_ source: @escaping @Sendable () -> [AdapterStore]) {
        state.withLock { $0.sources.append(source) }
    }

    /// True in a child made by `fork`, where nothing is captured.
    ///
    /// A thread of the parent may have held a lock of the session, so adapters report nothing there.
    package static var isInChild: Bool { failure_artifacts_is_child() }

    /// The test that the caller runs for; nil between tests, or if the test can't be determined.
    package var currentTest: RunningTest? {
        let (current, hasTasks) = state.withLock { ($0.tests.current, $0.tests.hasTasks) }
        return hasTasks ? RunningTest.ofTask ?? current : current
    }

    // MARK: The in-flight list

    var inFlight: InFlightList? { state.withLock { $0.inFlight } }

    /// Records in the in-flight list that a test, or any test, uses a store.
    package func storeOpened(_ path: String?, by test: RunningTest?) {
        if isOff { return }
        inFlight?.storeOpened(path, by: test?.listed)
        finishAtExit()
    }
}

extension CaptureSession: ConnectionObserver {
    var currentTestID: TestID? { currentTest?.id }

    var currentSuite: String? {
        currentTest.flatMap { $0.isAlone ? nil : $0.identity.suite }
    }

    /// Registers a connection, and records in the in-flight list that its store is in use, with the owner.
    func connectionOpened(
        _ path: UnsafePointer<CChar>?, register: (_ test: TestID?, _ suite: String?) -> TestID
    ) {
        let (isOff, list) = state.withLock { ($0.configuration.mode == .off, $0.inFlight) }
        var test = currentTest
        let owner: TestID
        if let test {
            owner = register(test.id, test.isAlone ? nil : test.identity.suite)
        } else {
            owner = register(nil, nil)
        }
        if isOff { return }
        if owner != test?.id ?? 0 { test = state.withLock { $0.tests.test(owner) } }
        if let test, !test.isOfThisProcess { return }
        list?.storeOpened(path, by: test?.listed)
        finishAtExit()
    }

    /// Records in the in-flight list that a store opened by an earlier test is in use.
    func leftConnectionUsed(_ path: UnsafePointer<CChar>?, ownedBy owner: TestID) {
        if isOff { return }
        let test = currentTest
        if let test, !test.isOfThisProcess { return }
        let opener = state.withLock { $0.tests.opener(owner) }
        inFlight?.storeUsed(path.map { String(cString: $0) }, by: test?.listed, openedBy: opener)
        finishAtExit()
    }
}

internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Turns what a test framework tells into bundles: the policy between the adapters and the parts.
///
/// It never throws into a test, waits for a bounded time only, and says what goes wrong in the bundle and on
/// standard error. May be used from any thread.
///
/// What is done for each test and each store, whether the test fails or not, is written for debug builds: without
/// closures under locks, copies of the configuration, or look-ups of what there is only one of.
package final class CaptureSession: Sendable {
    struct State {
        var configuration: CaptureConfiguration { didSet { policy = Policy(configuration) } }
        /// What of that is asked for each test.
        private(set) var policy: Policy
        /// How often each test was started.
        var attempts: [String: Int] = [:]
        /// How many tests were started.
        var tests: TestID = 0
        /// The directory of bundles.
        var output: OutputDirectory
        /// What others are told should the process die; nil only before the session is configured.
        var inFlight: InFlightJournal?
        /// The test that runs alone.
        var current: RunningTest?
        /// The test that may have been running when an adapter was installed.
        var unreported: UnreportedTest?
        /// The other tests that have not ended.
        var running: [TestID: RunningTest] = [:]
        /// The tests that have ended and left stores open.
        var endedOpeners: [TestID: BundleMetadata.Store.Opener] = [:]
        /// Whether there were tests that do not run alone: the only ones to have a task.
        var hasTasks = false
        /// Whether the caller runs in a test, reported or not; nil where no adapter can tell.
        var isInTest: (@Sendable () -> Bool)?
        /// What adapters know of stores.
        var sources: [@Sendable () -> [LibraryStore]] = []
        /// What was said on standard error already: some things are true of every failure of a run.
        var said: Set<String> = []

        init(_ configuration: CaptureConfiguration) {
            self.configuration = configuration
            policy = Policy(configuration)
            output = OutputDirectory(configuration.directoryPath)
        }

        /// The test of that number, if it has not ended.
        func test(_ id: TestID) -> RunningTest? {
            if let current, current.id == id { return current }
            return running.isEmpty ? nil : running[id]
        }

        /// The test of that number, if it has not ended, or has left stores open.
        func opener(_ id: TestID) -> BundleMetadata.Store.Opener? {
            test(id).map { .init($0.identity) } ?? endedOpeners[id]
        }

        mutating func add(_ test: RunningTest) {
            guard test.isAlone else {
                running[test.id] = test
                hasTasks = true
                return
            }
            if let current { running[current.id] = current }
            current = test
        }

        mutating func remove(_ test: RunningTest) {
            if current === test { current = nil } else { running[test.id] = nil }
        }
    }

    let state: Lock<State>
    /// Held while the configuration changes.
    private let configuring = Lock(())
    let registry = ConnectionRegistry.shared
    /// What became of tests when they were last run.
    let earlierAttempts = EarlierAttempts()
    /// Packs what tests have staged.
    ///
    /// Where more tests fail than it can follow, they wait for it, so that
    /// there is never much more on the disk than the bundles.
    let packing = BackgroundQueue(maximumWaiting: 8)

    package init(configuration: CaptureConfiguration) {
        state = Lock(State(configuration))
        configure(configuration)
    }

    package var configuration: CaptureConfiguration { state.withLock(\.configuration) }

    var policy: Policy {
        let policy = state.enter().pointee.policy
        state.leave()
        return policy
    }

    /// The directory of bundles.
    var output: OutputDirectory { state.withLock(\.output) }

    /// The directory of bundles, as far as it is known, for those who write to it.
    var artifactsDirectory: ArtifactsDirectory {
        state.withLock { $0.configuration.artifactsDirectory(at: $0.output.path) }
    }

    /// Changes what is captured from now on.
    package func configure(_ configuration: CaptureConfiguration) {
        configuring.withLock { _ in
            let (old, known) = state.withLock { state in
                defer { state.configuration = configuration }
                return (state.configuration, state.inFlight)
            }
            let journal: InFlightJournal
            if let known, old.directoryPath == configuration.directoryPath {
                journal = known
            } else {
                known?.close()
                let output = OutputDirectory(configuration.directoryPath)
                journal = InFlightJournal(in: output) {
                    RunEnvironment.describe(variables: ProcessEnvironment.variables)
                }
                state.withLock { ($0.output, $0.inFlight) = (output, journal) }
            }
            let rules = configuration.redactionRules
            journal.setRedactions(rules.isEmpty ? nil : rules.journalText)
        }
        guard configuration.mode != .off, configuration.discoversStores else { return }
        registry.configureLog(
            ConnectionRegistry.LogOptions(
                statements: configuration.maximumStatements, values: configuration.recordsBoundValues,
                durations: configuration.recordsDurations))
        registry.install(observer: self)
    }

    /// Has the stores of tests that no adapter reports told from those of no test at all.
    ///
    /// - Parameter isInTest: Whether the caller runs in a test, reported or not.
    package func tellTests(by isInTest: @escaping @Sendable () -> Bool) {
        state.withLock { $0.isInTest = isInTest }
        registry.followTasks()
    }

    /// Has the stores captured that an adapter knows.
    ///
    /// - Parameter source: Lists them; called at each failure, on its thread.
    package func addSource(_ source: @escaping @Sendable () -> [LibraryStore]) {
        state.withLock { $0.sources.append(source) }
    }

    /// The copies of a failing test's stores that were made so far, by the stores' names.
    package func copies(of test: RunningTest) -> [(name: String, path: String)] {
        test.capture.withLock { stage in
            guard case .open(let capture) = stage else { return [] }
            return capture.copies
        }
    }

    /// The test on whose behalf the caller runs; nil between tests, and where that can't be known.
    package var currentTest: RunningTest? {
        let state = self.state.enter()
        let current = state.pointee.current
        let hasTasks = state.pointee.hasTasks
        self.state.leave()
        return hasTasks ? RunningTest.ofTask ?? current : current
    }

    // MARK: The journal

    var inFlight: InFlightJournal? {
        let journal = state.enter().pointee.inFlight
        state.leave()
        return journal
    }

    /// Writes down that a test uses a store.
    ///
    /// - Parameters:
    ///   - path: Its file; nil for one in memory.
    ///   - test: The test; nil where any test may use it.
    package func storeOpened(_ path: String, by test: RunningTest?) {
        if policy.isOff { return }
        path.withCString { inFlight?.storeOpened($0, by: test?.inJournal) }
        finishAtExit()
    }
}

extension CaptureSession: ConnectionObserver {
    var currentTestID: TestID? { currentTest?.id ?? unobservedTestID }

    private var unobservedTestID: TestID? {
        let state = self.state.enter()
        let isInTest = state.pointee.isInTest
        let unreported = state.pointee.unreported?.id
        self.state.leave()
        if let unreported { return unreported }
        guard let isInTest else { return nil }
        return isInTest() ? RunningTest.unobserved : nil
    }

    /// Writes down that a store is in use, and whose it is.
    func connectionOpened(_ connection: OpenedConnection) {
        let state = self.state.enter()
        var test = state.pointee.current
        let hasTasks = state.pointee.hasTasks
        let isOff = state.pointee.policy.isOff
        let journal = state.pointee.inFlight
        let unreported = state.pointee.unreported?.id
        self.state.leave()
        if hasTasks, let own = RunningTest.ofTask { test = own }
        let owner: TestID?
        if let test {
            owner = connection.register(by: test.id)
        } else {
            owner = connection.register(by: unobservedTestID)
        }
        if isOff { return }
        if owner != test?.id { test = owner.flatMap(runningTest) }
        if let test, !test.isOfThisProcess { return }
        // A test without a name has no place in the journal.
        if test == nil, let owner, owner == unreported { return }
        journal?.storeOpened(connection.path, by: test?.inJournal)
        finishAtExit()
    }

    /// Writes down that a store is in use that an earlier test has opened.
    func leftConnectionUsed(_ connection: LeftConnection) {
        if policy.isOff { return }
        let test = currentTest
        if let test {
            if !test.isOfThisProcess { return }
        } else if unobservedTestID != nil {
            return
        }
        let opener = state.withLock { $0.opener(connection.owner) }
        inFlight?.storeUsed(
            connection.path.map { String(cString: $0) }, by: test?.inJournal, openedBy: opener)
        finishAtExit()
    }

    private func runningTest(_ id: TestID) -> RunningTest? { state.withLock { $0.test(id) } }
}

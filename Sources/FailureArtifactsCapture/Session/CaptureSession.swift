internal import FailureArtifactsBundle
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Turns what a test framework tells into bundles: the policy between the adapters and the parts.
///
/// It never throws into a test, waits for a bounded time only, and says what goes wrong in the bundle and on
/// standard error. May be used from any thread.
package final class CaptureSession: Sendable {
    private struct State {
        var configuration: CaptureConfiguration
        /// How often each test was started.
        var attempts: [String: Int] = [:]
        /// How many tests were started.
        var tests: TestID = 0
        /// The tests that have not ended.
        var running: [TestID: RunningTest] = [:]
        /// The test that runs alone.
        var current: RunningTest?
        /// Whether the caller runs in a test, reported or not; nil where no adapter can tell.
        var isInTest: (@Sendable () -> Bool)?
        /// What adapters know of stores.
        var sources: [@Sendable () -> [LibraryStore]] = []
        /// What was said on standard error already: some things are true of every failure of a run.
        var said: Set<String> = []
    }

    private let state: Lock<State>
    private let journal: Lock<InFlightJournal?>
    private let registry: ConnectionRegistry
    /// What became of tests when they were last run.
    private let earlierAttempts = EarlierAttempts()
    /// Packs what tests have spooled.
    ///
    /// Where more tests fail than it can follow, they wait for it, so that
    /// there is never much more on the disk than the bundles.
    private let packing = BackgroundQueue(maximumWaiting: 8)

    package init(configuration: CaptureConfiguration, registry: ConnectionRegistry = .shared) {
        state = Lock(State(configuration: configuration))
        journal = Lock(nil)
        self.registry = registry
        configure(configuration)
    }

    package var configuration: CaptureConfiguration { state.withLock(\.configuration) }

    private var isOff: Bool { state.withLock { $0.configuration.mode == .off } }

    /// Changes what is captured from now on.
    package func configure(_ configuration: CaptureConfiguration) {
        let old = state.withLock { state in
            defer { state.configuration = configuration }
            return state.configuration
        }
        journal.withLock { journal in
            if journal == nil || old.directoryPath != configuration.directoryPath {
                journal?.close()
                journal = InFlightJournal(in: ArtifactsDirectory(path: configuration.directoryPath)) {
                    RunEnvironment.describe(variables: ProcessEnvironment.variables)
                }
            }
            let rules = configuration.redactionRules
            journal?.setRedactions(rules.isEmpty ? nil : rules.journalText)
        }
        guard configuration.mode != .off, configuration.discoversStores else { return }
        registry.configureLog(
            ConnectionRegistry.LogOptions(
                statements: configuration.maximumStatements, values: configuration.recordsBoundValues,
                durations: configuration.recordsDurations))
        registry.install(
            observer: ConnectionRegistry.Observer(
                currentTest: { [weak self] in self?.currentTestID },
                opened: { [weak self] connection in self?.connectionOpened(connection) }))
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

    private var currentTestID: TestID? {
        if let test = currentTest { return test.id }
        return state.withLock(\.isInTest)?() == true ? RunningTest.unobserved : nil
    }

    /// The test on whose behalf the caller runs; nil between tests, and where that can't be known.
    package var currentTest: RunningTest? { RunningTest.ofTask ?? state.withLock(\.current) }

    // MARK: The journal

    /// Writes down that a store is in use, and whose it is.
    private func connectionOpened(_ connection: DiscoveredConnection) {
        let test = connection.owner.flatMap { owner in state.withLock { $0.running[owner] } }
        if let test, !test.isOfThisProcess { return }
        storeOpened(connection.path, by: test)
    }

    /// Writes down that a test uses a store.
    ///
    /// - Parameters:
    ///   - path: Its file; nil for one in memory.
    ///   - test: The test; nil where any test may use it.
    package func storeOpened(_ path: String?, by test: RunningTest?) {
        guard !isOff else { return }
        journal.withLock(\.self)?.storeOpened(path, by: test?.inJournal)
        finishAtExit()
    }

    // MARK: What adapters report

    /// A test starts, before any of its code runs.
    ///
    /// - Parameters:
    ///   - framework: The framework's name.
    ///   - suite: The class or suite.
    ///   - name: The method or function.
    ///   - arguments: Of a parameterised test, each as its description.
    ///   - location: What tells it from tests of the same name.
    ///   - isAlone: Whether no other test runs before this one has ended. If not, its code is to run where
    ///     ``RunningTest/ofTask`` is this test.
    /// - Returns: The test, to be named in what is reported later.
    package func testWillStart(
        framework: String, suite: String, name: String, arguments: [String]? = nil,
        location: String = "", isAlone: Bool
    ) -> RunningTest {
        let (isOff, isWatched, maximumKeptBytes, keepsBaselines) = state.withLock { state in
            let isOff = state.configuration.mode == .off
            return (
                isOff, !isOff && state.configuration.discoversStores,
                state.configuration.maximumKeptBytes, state.configuration.baseline
            )
        }
        if isWatched {
            registry.ensureInstalled()
            if !isAlone { registry.followTasks() }
            registry.beginKeeping(maximumBytes: maximumKeptBytes)
            if keepsBaselines { registry.keepBaselines() }
        }
        var key = "\(location)\u{0}\(suite)\u{0}\(name)"
        for argument in arguments ?? [] { key += "\u{0}" + argument }
        let now = registry.now
        let test = state.withLock { state in
            let attempt = (state.attempts[key] ?? 0) + 1
            state.attempts[key] = attempt
            state.tests += 1
            let identity = BundleMetadata.Test(
                framework: framework, suite: suite, name: name, arguments: arguments, attempt: attempt)
            let test = RunningTest(
                id: state.tests, identity: identity, isAlone: isAlone, start: now, isWatched: isWatched)
            if keepsBaselines {
                test.state.withLock { _ = $0.labels.claim(RunningTest.startLabel) }
            }
            state.running[test.id] = test
            if isAlone { state.current = test }
            return test
        }
        if !isOff { journal.withLock(\.self)?.testBegan(test.inJournal) }
        return test
    }

    /// A test has failed; to be called on the thread of the failure, before anything else of the test runs.
    ///
    /// When it returns, copies of the stores are on the disk. The bundle follows when the test has ended.
    ///
    /// - Parameters:
    ///   - test: The test.
    ///   - event: What has happened.
    ///   - testGoesOn: Whether ``testDidFinish(_:)`` will be called. If not, the bundle is there at once.
    package func testDidFail(_ test: RunningTest, _ event: FailureEvent, testGoesOn: Bool = true) {
        guard test.isOfThisProcess else { return }
        let configuration = configuration
        guard configuration.mode != .off else { return }
        let number = test.state.withLock { state in
            if !state.hasEnded { state.failures.append(event) }
            return state.hasEnded ? 0 : state.failures.count
        }
        if number == 0 { return }
        if number == 1 {
            update(test) { $0.spoolFailure(event) }
        } else if configuration.mode == .everyFailure {
            // While another thread makes a copy, it is not waited for: it may wait for this one.
            update(test, unlessBusy: true) {
                $0.spoolSnapshot(label: "failure-\(number)", at: event.date, after: event)
            }
        }
        if !testGoesOn {
            end(test, packsNow: true)
            journal.withLock(\.self)?.close()
        }
    }

    /// Whether tests that pass may have to be captured: what it takes to do so is done for no others.
    package var capturesPassingTests: Bool {
        state.withLock {
            $0.configuration.mode != .off && $0.configuration.capturesPassingTests != .never
        }
    }

    /// A test's own code has ended; to be called on its thread.
    ///
    /// If it has not failed, its stores are captured where that was asked for.
    package func testDidReachEnd(_ test: RunningTest) {
        guard capturesPassingTests, test.state.withLock({ $0.failures.isEmpty && !$0.hasEnded }) else {
            return
        }
        let configuration = configuration
        let directory = configuration.artifactsDirectory
        guard
            configuration.capturesPassingTests == .always
                || earlierAttempts.hasFailed(test.identity, in: directory)
        else { return }
        let room = directory.roomForPassingTest(within: configuration.limits)
        var hasRoom = room != nil
        if let room { update(test) { hasRoom = $0.spoolPassing(maximumBytes: room) } }
        if hasRoom { return }
        sayOnce(
            "For some tests that passed there is no room in '\(directory.path)', of which their bundles take half at "
                + "most (FAILURE_ARTIFACTS_MAX_TOTAL_BYTES, FAILURE_ARTIFACTS_MAX_BUNDLES).")
    }

    /// A test has ended, after its teardown.
    package func testDidFinish(_ test: RunningTest) {
        end(test, packsNow: !state.withLock { $0.configuration.packsInBackground })
    }

    /// A test has ended, and its bundle is wanted now.
    ///
    /// - Returns: The bundle's path; nil where there is none.
    package func testDidFinishAndIsPacked(_ test: RunningTest) -> String? {
        end(test, packsNow: true)
    }

    /// Copies the stores of a test as they are now, for its bundle should it fail.
    ///
    /// - Parameters:
    ///   - label: What the copies are called.
    ///   - test: The test, on whose thread this is to be called.
    func takeSnapshot(_ label: String, of test: RunningTest) {
        guard test.isOfThisProcess, configuration.mode != .off else { return }
        let date = Timestamp.now
        let label = test.state.withLock { state in
            state.labels.claim(SafeName.make(from: label, maximumBytes: 100))
        }
        update(test) { $0.spoolSnapshot(label: label, at: date, after: nil) }
    }

    /// Tests are about to run: has what earlier processes have left packed, if there is anything.
    package func testsWillStart() {
        for warning in CaptureConfiguration.environment.warnings { sayOnce(warning) }
        let configuration = configuration
        let directory = configuration.artifactsDirectory
        // `failure-artifacts run` does it itself, and knows more.
        guard configuration.mode != .off, !ProcessEnvironment.isSupervised, directory.hasHiddenFiles
        else { return }
        let sweep = { @Sendable [self] in
            let result = Salvage(
                of: directory, limits: configuration.limits, redactions: configuration.redactionRules,
                sharing: configuration.sharesIdenticalStores
            ).sweep()
            for bundle in result.bundles { say("what an earlier process left is in \(bundle)") }
            for warning in result.warnings { sayOnce(warning) }
        }
        // Among what an earlier attempt has left may be the failures that make a difference.
        if configuration.capturesPassingTests == .afterFailure { sweep() } else { packing.add(sweep) }
    }

    /// All tests have run: waits until every bundle is there.
    package func testsDidFinish() {
        packing.waitUntilEmpty()
    }

    /// The process ends in an orderly way, perhaps in the middle of a test.
    private func processWillExit() {
        for test in state.withLock(\.running).values { testIsCutOff(test) }
        packing.waitUntilEmpty()
        journal.withLock(\.self)?.close()
    }

    /// The process ends, and the test with it.
    private func testIsCutOff(_ test: RunningTest) {
        guard test.isOfThisProcess else { return }
        if journal.withLock(\.self)?.isInFlight(test.id) == true {
            let event = FailureEvent(
                message: "The process exited in the middle of the test.", file: nil, line: nil,
                kind: .termination)
            test.state.withLock { $0.failures.append(event) }
            update(test) { $0.spoolEnd(event) }
        }
        end(test, packsNow: true)
    }

    // MARK: Making bundles

    /// Has a test's capture take something, and says what went wrong.
    ///
    /// - Parameters:
    ///   - test: The test.
    ///   - unlessBusy: Whether to leave it where another thread is at it.
    ///   - body: Gets the capture, which is created where there is none.
    private func update(
        _ test: RunningTest, unlessBusy: Bool = false, _ body: (Capture) -> Void
    ) {
        do {
            let take = { (stage: inout RunningTest.CaptureStage) throws(CaptureError) in
                if case .none = stage {
                    let capture = try Capture(
                        of: test, configuration: self.configuration, registry: self.registry,
                        isRunning: { id in
                            id == RunningTest.unobserved
                                || self.state.withLock { $0.running[id] != nil }
                        },
                        libraryStores: {
                            self.state.withLock(\.sources).flatMap { $0() }
                        })
                    stage = .open(capture)
                    self.finishAtExit()
                }
                guard case .open(let capture) = stage else { return }
                defer { self.passOnWarnings(of: capture) }
                body(capture)
            }
            if unlessBusy {
                _ = try test.capture.withLockIfAvailable(take)
            } else {
                try test.capture.withLock(take)
            }
        } catch {
            test.state.withLock { $0.lostCaptures.append("\(error)") }
            sayOnce("\(error)")
            if error.isLimit { test.state.withLock { $0.wasRefused = true } }
        }
    }

    /// Forgets a test, and has its capture packed, or dropped if the test has neither failed nor is to be captured.
    ///
    /// - Returns: The bundle's path, where it was packed now.
    @discardableResult
    private func end(_ test: RunningTest, packsNow: Bool) -> String? {
        guard test.isOfThisProcess else { return nil }
        let stage = test.capture.withLock { stage in
            defer { stage = .ended }
            return stage
        }
        if case .ended = stage { return nil }
        let (hasFailed, wasRefused) = test.state.withLock { state in
            state.hasEnded = true
            return (!state.failures.isEmpty, state.wasRefused)
        }
        var finished: Capture?
        if case .none = stage, hasFailed, wasRefused {
            configuration.artifactsDirectory.countFailureLeftOut()
        }
        if case .open(let capture) = stage {
            if hasFailed || capture.isOfPassingTest {
                capture.end()
                finished = capture
            } else {
                capture.discard()
            }
        }
        // One that was skipped has told nothing.
        if hasFailed || finished != nil, capturesPassingTests {
            earlierAttempts.note(test.identity, hasFailed: hasFailed)
        }
        state.withLock { state in
            state.running[test.id] = nil
            if state.current === test { state.current = nil }
        }
        let left = test.isWatched ? registry.endKeeping(of: test.id) : []
        // Before its bundle is there: should the process die in between, whoever finds the capture packs it, but
        // of a test that the journal calls running there would be another bundle.
        journal.withLock(\.self)?.testEnded(test.id, leaving: left)
        guard let finished else { return nil }
        if packsNow { return pack(finished) }
        packing.add { [self] in pack(finished) }
        return nil
    }

    @discardableResult
    private func pack(_ capture: Capture) -> String? {
        defer { passOnWarnings(of: capture) }
        do {
            let bundle = try capture.pack()
            let end = capture.isOfPassingTest ? "passed" : "failed"
            say("\(capture.test.name) \(end); what it left is in \(bundle)")
            return bundle
        } catch {
            sayOnce("\(error)")
            if error.isLimit { capture.directory.countFailureLeftOut() }
            return nil
        }
    }

    private func passOnWarnings(of capture: Capture) {
        for warning in capture.takeWarnings() { say("warning: \(capture.test.name): \(warning)") }
    }

    /// Sees to it that the process does not end before its bundles are there and its journal is gone.
    private func finishAtExit() {
        guard self === CaptureSession.shared else { return }
        _ = Self.exitHandler
    }

    /// The process that has the handler, which is registered once.
    ///
    /// A child made by `fork` has neither the thread nor, perhaps, the locks.
    private static let exitHandler: pid_t = {
        atexit {
            if getpid() == CaptureSession.exitHandler { CaptureSession.shared.processWillExit() }
        }
        return getpid()
    }()

    // MARK: Standard error

    private func say(_ sentence: String) {
        StandardError.writeLine("failure-artifacts: \(sentence)")
    }

    private func sayOnce(_ sentence: String) {
        if state.withLock({ $0.said.insert(sentence).inserted }) { say("warning: \(sentence)") }
    }
}

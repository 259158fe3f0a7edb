internal import CFailureArtifactsCapture
internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Events of tests, as reported by adapters.
extension CaptureSession {
    /// Registers a test that starts.
    ///
    /// Call it before any of the test's code runs.
    ///
    /// - `isAlone`: true if no other test runs before this one has ended. If false, run the test's code with
    ///   ``RunningTest/ofTask`` set to this test.
    /// - `isSuite`: true for a suite that failed outside of its tests.
    package func testWillStart(
        framework: String, suite: String, name: String, location: String? = nil,
        arguments: [String]? = nil, isAlone: Bool, isSuite: Bool = false
    ) -> RunningTest {
        let configuration = configuration
        let start = beginWatching(configuration, isAlone: isAlone)
        // String interpolation takes ten times as long in a debug build.
        var key = suite
        key += "\u{0}"
        key += name
        if let location { key += "\u{0}" + location }
        for argument in arguments ?? [] { key += "\u{0}\u{0}" + argument }
        let test = state.withLock { state in
            let (id, attempt) = state.tests.number(of: key)
            let test = RunningTest(
                InFlightList.Test(
                    id: id,
                    identity: BundleMetadata.Test(
                        framework: framework, suite: suite, name: name, arguments: arguments,
                        attempt: attempt),
                    start: .now, order: start.statement),
                isAlone: isAlone, start: start, isWatched: configuration.watchesStores)
            state.tests.add(test, isSuite: isSuite)
            return test
        }
        if !isSuite { failure_artifacts_baseline_begins(test.id, start.statement) }
        if configuration.mode != .off { inFlight?.testBegan(test.listed) }
        return test
    }

    /// Starts keeping the content that tests lose, if stores are discovered; returns the current point in the order of
    /// events.
    private func beginWatching(
        _ configuration: CaptureConfiguration, isAlone: Bool
    ) -> ConnectionRegistry.PointInTime {
        guard configuration.watchesStores else { return registry.now }
        registry.ensureInstalled()
        if !isAlone { registry.followTasks() }
        return registry.beginKeeping(maximumBytes: 16 << 20)
    }

    // MARK: Suites

    /// The name, in a bundle, of a suite's own failures in place of a test's name.
    static let suiteName = "suite"

    /// Records a failure that the framework reports for a suite and not for one of its tests, such as a failure in a
    /// class's `setUp`.
    ///
    /// Such failures leave one bundle for the suite. Failures of a test that runs at the same time stay the test's. May
    /// be called from any thread.
    package func suiteDidFail(framework: String, suite: String, _ event: FailureEvent) {
        guard configuration.mode != .off else { return }
        let test = suites.withLock { suites in
            if let known = suites[suite] { return known }
            let new = testWillStart(
                framework: framework, suite: suite, name: Self.suiteName, isAlone: true, isSuite: true)
            suites[suite] = new
            return new
        }
        testDidFail(test, event)
    }

    /// Ends a suite.
    ///
    /// Its bundle follows if it has failed outside of its tests.
    package func suiteDidFinish(_ suite: String) {
        let test = suites.withLock { $0.isEmpty ? nil : $0.removeValue(forKey: suite) }
        if let test { testDidFinish(test) }
    }

    // MARK: Failures and ends

    /// Records a test's failure.
    ///
    /// Call it on the thread of the failure, before any other code of the test runs.
    ///
    /// When it returns, copies of the stores are on the disk. The bundle follows when the test has ended.
    ///
    /// - `testGoesOn`: true if ``testDidFinish(_:packsNow:)`` will be called. If false, the bundle is written before
    ///   this returns.
    package func testDidFail(_ test: RunningTest, _ event: FailureEvent, testGoesOn: Bool = true) {
        guard test.isOfThisProcess else { return }
        let configuration = configuration
        guard configuration.mode != .off else { return }
        let number = test.state.withLock { state in
            if state.hasEnded { return 0 }
            state.add(event)
            return state.failures.count + state.failuresLeftOut
        }
        if number == 0 { return }
        if number == 1 {
            capture(event, of: test)
        } else if configuration.mode == .everyFailure {
            // Another thread that makes a copy may be waiting for this one, so this one doesn't wait.
            update(test, unlessBusy: true) {
                $0.stageSnapshot(label: "failure-\(number)", at: event.date, after: event)
            }
        }
        if !testGoesOn {
            testDidFinish(test, packsNow: true)
            inFlight?.close()
        }
    }

    /// True if passing tests may have to be captured.
    ///
    /// If false, callers skip the preparations for that.
    package var capturesPassingTests: Bool {
        state.withLock {
            $0.configuration.mode != .off && $0.configuration.capturesPassingTests != .never
        }
    }

    /// Records that a test's own code has ended.
    ///
    /// Call it on the test's thread.
    ///
    /// If the test has not failed, its stores are captured as far as the configuration requests it.
    package func testDidReachEnd(_ test: RunningTest) {
        guard capturesPassingTests, test.state.withLock({ $0.failures.isEmpty && !$0.hasEnded }) else {
            return
        }
        let configuration = configuration
        let directory = artifactsDirectory
        guard
            configuration.capturesPassingTests == .always
                || state.withLock({ $0.earlierFailures.mayContain(test.identity) })
        else { return }
        let room = directory.roomForPassingTest(within: configuration.limits)
        var hasRoom = room != nil
        if let room { update(test) { hasRoom = $0.stagePassing(maximumBytes: room) } }
        if hasRoom { return }
        sayOnce(
            "For some tests that passed there is no room in '\(directory.path)', of which their bundles take half at "
                + "most (FAILURE_ARTIFACTS_MAX_TOTAL_BYTES, FAILURE_ARTIFACTS_MAX_BUNDLES).")
    }

    /// True if the passes of tests may have to be recorded, because the directory has bundles of failures, or statements
    /// of passing tests are recorded.
    package var recordsPasses: Bool {
        state.withLock { $0.passing != nil || !$0.earlierFailures.isEmpty }
    }

    /// Records that a test has passed, so that the bundles of its earlier failures are known to be outdated.
    ///
    /// Call it after the test's teardown, and not for a test that was skipped. The bundles of a parameterized test's cases
    /// can't be told apart by their names, so nothing is recorded.
    package func testDidPass(_ test: RunningTest) {
        let hasPassed = test.state.withLock { state in
            state.hasPassed = state.failures.isEmpty && !state.hasEnded
            return state.hasPassed
        }
        guard hasPassed, test.identity.arguments == nil,
            state.withLock({ $0.earlierFailures.mayContain(test.identity) })
        else { return }
        finishAtExit()
        // A bundle of the test may be waiting to be packed.
        packing.add { [self] in
            // Nothing depends on it but the order of a list.
            try? artifactsDirectory.recordPass(of: test.identity)
        }
    }

    /// Copies a test's stores in their current state, for its bundle if it fails.
    ///
    /// Call it on the test's thread.
    func takeSnapshot(_ label: String, of test: RunningTest) {
        guard test.isOfThisProcess, configuration.mode != .off else { return }
        let date = Timestamp.now
        update(test) { $0.stageSnapshot(label: label, at: date, after: nil) }
    }
}

/// The start of a process's tests, and the end of the process.
extension CaptureSession {
    /// Recovers the bundles that earlier processes left unpacked, if any.
    ///
    /// Call it before tests run.
    ///
    /// - `isAlone`: false if tests may already run. Then the bundles are made beside them.
    package func testsWillStart(isAlone: Bool = true) {
        for warning in CaptureConfiguration.environment.warnings { sayOnce(warning) }
        let configuration = configuration
        guard configuration.mode != .off else { return }
        if !ProcessEnvironment.isSupervised { output.choose() }
        let directory = artifactsDirectory
        noteEarlierFailures(directory.failuresToPass)
        // `failure-artifacts run` recovers them itself, with more information.
        guard !ProcessEnvironment.isSupervised, directory.hasHiddenFiles else { return }
        let recovery = CrashRecovery(
            of: directory, limits: configuration.limits, redactions: configuration.redactionRules)
        let dead = recovery.testsOfDeadProcesses.values.joined()
        state.withLock { state in dead.forEach { state.earlierFailures.insert($0) } }
        let sweep = { @Sendable [self] in
            let result = recovery.sweep()
            noteEarlierFailures(result.bundles.map { Path.name(of: $0.path) })
            for bundle in result.bundles {
                let event = bundle.isInterrupted ? "did not end" : bundle.outcome.rawValue
                announce(
                    bundle.path, of: bundle.test, bundle.outcome, event + " in an earlier process",
                    hasStores: bundle.hasStores)
            }
            for warning in result.warnings { sayOnce(warning) }
        }
        // With `.afterFailure`, recovered failures of an earlier attempt decide which passing tests are captured.
        let isNeededFirst = configuration.capturesPassingTests == .afterFailure
        guard isAlone || isNeededFirst else { return packing.add(sweep) }
        // The tests may configure SQLite, shut it down and replace the stores.
        let mayBeInUse = !isAlone || failure_artifacts_may_be_in_use()
        sweep()
        if !mayBeInUse { failure_artifacts_end_own_use() }
    }

    private func noteEarlierFailures(_ bundles: [String]) {
        if bundles.isEmpty { return }
        state.withLock { $0.earlierFailures.insert(bundles: bundles) }
    }

    /// Ends the suites that have not ended, and waits until every bundle is written.
    ///
    /// Call it when all tests have run.
    package func testsDidFinish() {
        for suite in suites.withLock({ Array($0.keys) }) { suiteDidFinish(suite) }
        packing.waitUntilEmpty()
    }

    /// Captures interrupted tests, waits for all bundles and closes the list, when the process exits normally.
    private func processWillExit() {
        for test in state.withLock({ $0.tests.all }) { testIsCutOff(test) }
        packing.waitUntilEmpty()
        state.withLock { $0.passing }?.write()
        inFlight?.close()
    }

    /// Captures and ends a test that is interrupted by the end of the process.
    private func testIsCutOff(_ test: RunningTest) {
        guard test.isOfThisProcess else { return }
        if inFlight?.isInFlight(test.id) == true {
            let event = FailureEvent(
                message: "The process exited in the middle of the test.", file: nil, line: nil,
                kind: .termination)
            test.state.withLock { $0.add(event) }
            update(test) { $0.stageEnd(event) }
        }
        testDidFinish(test, packsNow: true)
    }

    /// Ensures that the process writes its bundles and removes its recorder before it exits.
    func finishAtExit() {
        guard self === CaptureSession.shared else { return }
        _ = Self.exitHandler
    }

    /// The process that registered the exit handler, which is registered once.
    ///
    /// A child created by `fork` inherits the handler, but not the thread. Its locks may be unusable.
    private static let exitHandler: pid_t = {
        atexit {
            if getpid() == CaptureSession.exitHandler { CaptureSession.shared.processWillExit() }
        }
        return getpid()
    }()
}

internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// The start of a process's tests, and the end of the process.
extension CaptureSession {
    /// Recovers the bundles that earlier processes left unpacked, if any.
    ///
    /// Call it before tests run.
    package func testsWillStart() {
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
        // Their bundles are made while the first tests run.
        let dead = recovery.testsOfDeadProcesses.values.joined()
        state.withLock { state in dead.forEach { state.earlierFailures.insert($0) } }
        let sweep = { @Sendable [self] in
            let result = recovery.sweep()
            noteEarlierFailures(result.bundles.map(Path.name(of:)))
            let command = ToolCommand()
            for bundle in result.bundles {
                say(
                    "A test of an earlier process did not end. To find out why: \(command.explain(bundle))"
                )
            }
            for warning in result.warnings { sayOnce(warning) }
        }
        // With `.afterFailure`, recovered failures of an earlier attempt decide which passing tests are captured.
        if configuration.capturesPassingTests == .afterFailure { sweep() } else { packing.add(sweep) }
    }

    private func noteEarlierFailures(_ bundles: [String]) {
        if bundles.isEmpty { return }
        state.withLock { $0.earlierFailures.insert(bundles: bundles) }
    }

    /// Ends the suites that have not ended, and waits until every bundle is written.
    ///
    /// Call it when all tests have run.
    package func testsDidFinish() {
        for suite in state.withLock({ Array($0.suites.keys) }) { suiteDidFinish(suite) }
        packing.waitUntilEmpty()
    }

    /// Captures interrupted tests, waits for all bundles and closes the journal, when the process exits normally.
    private func processWillExit() {
        let tests = state.withLock { state in
            Array(state.running.values) + [state.current].compactMap(\.self)
        }
        for test in tests { testIsCutOff(test) }
        packing.waitUntilEmpty()
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
        end(test, packsNow: true)
    }

    /// Ensures that the process writes its bundles and removes its journal before it exits.
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

internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// The start of a process's tests, and the end of the process.
extension CaptureSession {
    /// Tests are about to run: has what earlier processes have left packed, if there is anything.
    package func testsWillStart() {
        for warning in CaptureConfiguration.environment.warnings { sayOnce(warning) }
        let configuration = configuration
        // `failure-artifacts run` does it itself, and knows more.
        guard configuration.mode != .off, !ProcessEnvironment.isSupervised else { return }
        output.choose()
        let directory = artifactsDirectory
        guard directory.hasHiddenFiles else { return }
        let sweep = { @Sendable [self] in
            let result = CrashRecovery(
                of: directory, limits: configuration.limits, redactions: configuration.redactionRules
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
        let tests = state.withLock { state in
            Array(state.running.values) + [state.current].compactMap(\.self)
        }
        for test in tests { testIsCutOff(test) }
        packing.waitUntilEmpty()
        inFlight?.close()
    }

    /// The process ends, and the test with it.
    private func testIsCutOff(_ test: RunningTest) {
        guard test.isOfThisProcess else { return }
        if inFlight?.isInFlight(test.id) == true {
            let event = FailureEvent(
                message: "The process exited in the middle of the test.", file: nil, line: nil,
                kind: .termination)
            test.state.withLock { $0.failures.append(event) }
            update(test) { $0.stageEnd(event) }
        }
        end(test, packsNow: true)
    }

    /// Sees to it that the process does not end before its bundles are there and its journal is gone.
    func finishAtExit() {
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
}

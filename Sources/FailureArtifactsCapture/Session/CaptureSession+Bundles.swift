internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Creation of bundles, and messages about them.
extension CaptureSession {
    /// Passes a test's capture to `body`, and reports problems.
    ///
    /// The capture is created if necessary. If it has ended, `body` isn't called. With `unlessBusy`, nothing happens
    /// either if another thread is using the capture.
    func update(
        _ test: RunningTest, unlessBusy: Bool = false, _ body: (inout Capture) -> Void
    ) {
        do {
            let take = { (stage: inout RunningTest.CaptureStage) throws(CaptureError) in
                if case .none = stage {
                    let capture = try withoutFileSizeSignal { () throws(CaptureError) in
                        try Capture(of: test, in: self)
                    }
                    stage = .open(capture)
                    if let warning = self.output.warning { self.sayOnce(warning) }
                    self.finishAtExit()
                }
                guard case .open(var capture) = stage else { return }
                body(&capture)
                self.passOnWarnings(of: &capture)
                stage = .open(capture)
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

    /// Ends a test, after its teardown, and packs or discards its capture; returns the bundle's path and the text of its
    /// `README.txt` if it is packed already.
    ///
    /// The capture is discarded if the test has not failed and is not captured as a passing test. The configuration
    /// decides when it is packed, unless `packsNow` does.
    @discardableResult
    package func testDidFinish(
        _ test: RunningTest, packsNow: Bool? = nil
    ) -> (path: String, readMe: String)? {
        guard test.isOfThisProcess else { return nil }
        let (failure, isLost) = test.state.withLock { state in
            state.hasEnded = true
            return (state.failures.first, !state.lostCaptures.isEmpty)
        }
        let hasFailed = failure != nil
        endPassing(test)
        // Another thread may have recorded the failure, and not captured it yet.
        if let failure, !isLost { capture(failure, of: test) }
        let stage = Self.endCapture(of: test)
        if case .ended = stage { return nil }
        var finished: Capture?
        if case .none = stage, hasFailed, test.state.withLock({ $0.wasRefused }) {
            artifactsDirectory.countFailureLeftOut()
        }
        if case .open(var capture) = stage {
            if hasFailed || capture.isOfPassingTest {
                capture.end()
                finished = capture
            } else {
                capture.discard()
            }
        }
        if hasFailed {
            state.withLock { $0.earlierFailures.insert(test.identity) }
        } else if finished != nil {
            state.withLock { $0.earlierFailures.remove(test.identity) }
        }
        // The test leaves the in-flight list before its bundle exists. If the process dies in between, crash recovery packs
        // the staging directory. If the list still listed the test as running, recovery would make another bundle.
        forget(test)
        guard let finished else { return nil }
        if packsNow ?? !configuration.packsInBackground { return pack(finished) }
        packing.add { [self] in pack(finished) }
        return nil
    }

    /// Collects the statements of a test that has passed.
    private func endPassing(_ test: RunningTest) {
        guard let passing = state.withLock({ $0.passing }) else { return }
        let hasPassed = test.state.withLock { $0.hasPassed && $0.failures.isEmpty }
        if passing.end(test, hasPassed: hasPassed) { packing.add { passing.write() } }
    }

    private func forget(_ test: RunningTest) {
        // Done while the test counts as running. Otherwise its open stores would seem to be used by others until this
        // is noted.
        let left = test.isWatched ? registry.endKeeping(of: test.id) : nil
        let list = state.withLock { state in
            state.tests.remove(test, leavesStores: left != nil)
            return state.inFlight
        }
        list?.testEnded(test.id, leaving: left?.unwatched ?? [])
    }

    /// Captures a test's first failure, unless another thread has done so.
    func capture(_ failure: FailureEvent, of test: RunningTest) {
        update(test) { if !$0.hasStagedFailure { $0.stageFailure(failure) } }
    }

    private static func endCapture(of test: RunningTest) -> RunningTest.CaptureStage {
        test.capture.withLock { stage in
            defer { stage = .ended }
            return stage
        }
    }

    @discardableResult
    private func pack(_ staged: Capture) -> (path: String, readMe: String)? {
        var capture = staged
        defer { passOnWarnings(of: &capture) }
        do {
            let bundle = try capture.pack()
            if bundle.path != capture.announcedBundle { capture.announce(bundle.path) }
            return bundle
        } catch {
            sayOnce("\(error)")
            if error.isLimit { capture.directory.countFailureLeftOut() }
            return nil
        }
    }

    private func passOnWarnings(of capture: inout Capture) {
        for warning in capture.takeMessages() { say("warning: \(capture.test.name): \(warning)") }
    }

    // MARK: Standard error

    /// Prints the command that explains a failure, or the place of a passing test's bundle.
    ///
    /// - `event`: what happened to the test.
    func announce(
        _ bundle: String, of test: BundleMetadata.Test, _ outcome: BundleMetadata.Outcome,
        _ event: String,
        hasStores: Bool
    ) {
        let command = ToolCommand()
        // Arguments can have any text.
        let title = FailureNote.line(test.title, 200)
        if outcome == .passed {
            say("\(title) \(event); its bundle is \(command.shortened(bundle))")
        } else {
            say(
                "\(title) \(event). "
                    + (hasStores ? "To find out why: \(command.explain(bundle))" : "It used no store."))
        }
    }

    func say(_ sentence: String) {
        StandardError.writeLine("failure-artifacts: \(sentence)")
    }

    func sayOnce(_ sentence: String) {
        if state.withLock({ $0.said.insert(sentence).inserted }) { say("warning: \(sentence)") }
    }
}

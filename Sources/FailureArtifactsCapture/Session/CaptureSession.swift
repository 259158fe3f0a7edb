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
        var current: RunningTest?
        /// What was said on standard error already: some things are true of every failure of a run.
        var said: Set<String> = []
    }

    private let state: Lock<State>
    private let registry: ConnectionRegistry

    package init(configuration: CaptureConfiguration, registry: ConnectionRegistry = .shared) {
        state = Lock(State(configuration: configuration))
        self.registry = registry
        configure(configuration)
    }

    package var configuration: CaptureConfiguration { state.withLock(\.configuration) }

    /// Changes what is captured from now on.
    package func configure(_ configuration: CaptureConfiguration) {
        state.withLock { $0.configuration = configuration }
        if configuration.mode != .off && configuration.discoversStores { registry.install() }
    }

    /// The one test that runs now; nil between tests.
    package var currentTest: RunningTest? { state.withLock(\.current) }

    // MARK: What adapters report

    /// A test starts, before any of its code runs.
    ///
    /// - Parameters:
    ///   - framework: The framework's name.
    ///   - suite: The class or suite.
    ///   - name: The method or function.
    /// - Returns: The test, to be named in what is reported later.
    package func testWillStart(framework: String, suite: String, name: String) -> RunningTest {
        let configuration = configuration
        if configuration.mode != .off && configuration.discoversStores { registry.ensureInstalled() }
        return state.withLock { state in
            let attempt = state.attempts["\(suite).\(name)", default: 0] + 1
            state.attempts["\(suite).\(name)"] = attempt
            let identity = BundleMetadata.Test(
                framework: framework, suite: suite, name: name, attempt: attempt)
            let test = RunningTest(identity: identity, start: registry.now)
            state.current = test
            return test
        }
    }

    /// A test has failed; to be called on the thread of the failure, before anything else of the test runs.
    ///
    /// When it returns, the bundle is on the disk.
    package func testDidFail(_ test: RunningTest, _ event: FailureEvent) {
        let configuration = configuration
        guard configuration.mode != .off else { return }
        let role: Role = test.state.withLock { state in
            state.failures.append(event)
            if !state.isCapturing {
                state.isCapturing = true
                return .first
            }
            // While another thread makes the capture, it is not waited for: it may wait for this one.
            guard configuration.mode == .everyFailure, let capture = state.capture else { return .noted }
            return .further(capture, number: state.failures.count)
        }
        switch role {
        case .first: makeCapture(of: test, configuration)
        case .further(let capture, let number):
            update(capture, of: test) { () throws(CaptureError) in
                try capture.captureSnapshot(label: "failure-\(number)", at: event.date, of: test)
            }
        case .noted: break
        }
    }

    private enum Role {
        case first, noted
        case further(Capture, number: Int)
    }

    /// A test has ended, after its teardown.
    package func testDidFinish(_ test: RunningTest) {
        if let capture = test.state.withLock(\.capture) {
            update(capture, of: test) { () throws(CaptureError) in try capture.complete(test) }
        }
        state.withLock { state in
            if state.current === test { state.current = nil }
        }
        if configuration.discoversStores { registry.forgetClosedStores() }
    }

    /// Says, once, which variables could not be read; to be called when standard error is the tests' own.
    package func warnAboutEnvironment() {
        for warning in CaptureConfiguration.environment.warnings { sayOnce(warning) }
    }

    // MARK: Making bundles

    private func makeCapture(of test: RunningTest, _ configuration: CaptureConfiguration) {
        do {
            let capture = try Capture(configuration: configuration, registry: registry)
            update(capture, of: test) { () throws(CaptureError) in
                try capture.captureFailure(of: test)
                say("\(test.name) failed; what it left is in \(capture.bundle ?? "")")
            }
            test.state.withLock { $0.capture = capture }
        } catch {
            sayOnce("\(error)")
        }
    }

    /// Has a capture write its bundle, and says what went wrong.
    private func update(
        _ capture: Capture, of test: RunningTest, _ body: () throws(CaptureError) -> Void
    ) {
        do {
            try body()
        } catch {
            sayOnce("\(error)")
        }
        for warning in capture.takeWarnings() { say("warning: \(test.name): \(warning)") }
    }

    // MARK: Standard error

    private func say(_ sentence: String) {
        StandardError.writeLine("failure-artifacts: \(sentence)")
    }

    private func sayOnce(_ sentence: String) {
        if state.withLock({ $0.said.insert(sentence).inserted }) { say("warning: \(sentence)") }
    }
}

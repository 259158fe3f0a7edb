@_exported public import FailureArtifactsCapture

#if canImport(ObjectiveC)
internal import Foundation
public import ObjectiveC
#endif

#if canImport(ObjectiveC)
/// Leaves a bundle for each failing XCTest.
///
/// Linking the product `FailureArtifacts` to a test target installs it before the first test. It can also be
/// named as the principal class of a test bundle (`NSPrincipalClass`), or be installed by hand.
public final class FailureObserver: NSObject {
    /// Installs the observer; what XCTest does with a principal class.
    override public init() {
        super.init()
        Self.install()
    }
}
#else
/// Leaves a bundle for each failing XCTest.
///
/// Linking the product `FailureArtifacts` to a test target installs it before the first test.
public enum FailureObserver {}
#endif

extension FailureObserver {
    // Written on the main thread only, see `install`.
    nonisolated(unsafe) private static var observation: TestObservation?

    /// Starts to observe, or goes on with another configuration.
    ///
    /// Calling it again adds no second observer. It is to be called on the main thread, between tests or in
    /// a test's set-up: XCTest's observers are not synchronised.
    ///
    /// The first call may come while a test runs, as in an instance's `setUp`. That test leaves a bundle if it fails
    /// afterwards, but neither if its process dies nor if it passes.
    ///
    /// - Parameter configuration: What is captured from now on, whatever the environment says.
    public static func install(_ configuration: CaptureConfiguration = CaptureConfiguration()) {
        install(configuration, mayBeInTest: true)
    }

    fileprivate static func install(_ configuration: CaptureConfiguration, mayBeInTest: Bool) {
        CaptureSession.shared.configure(configuration)
        guard configuration.mode != .off else { return }
        if mayBeInTest, observation == nil { CaptureSession.shared.unreportedTestMayBeRunning() }
        #if canImport(ObjectiveC)
        // Where the process starts, and where XCTest creates its principal class, this is the main thread.
        guard Thread.isMainThread else {
            DispatchQueue.main.async { observe() }
            return
        }
        #endif
        observe()
    }

    private static func observe() {
        guard observation == nil else { return }
        let observation = TestObservation()
        self.observation = observation
        observation.begin()
    }
}

/// Called by C when the process starts.
@_cdecl("failure_artifacts_install")
func installAtProcessStart() {
    let configuration = CaptureConfiguration()
    if configuration.mode != .off { FailureObserver.install(configuration, mayBeInTest: false) }
}

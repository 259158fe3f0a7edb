@_exported public import FailureArtifactsCapture
internal import FailureArtifactsTesting

#if canImport(ObjectiveC)
internal import Foundation
public import ObjectiveC
#endif

#if canImport(ObjectiveC)
/// An observer that leaves a bundle for each failing XCTest.
///
/// Linking the product `FailureArtifacts` to a test target installs the observer before the first test. A test bundle
/// can also name it as its principal class (`NSPrincipalClass`), and ``install(_:)`` installs it by hand.
public final class FailureObserver: NSObject {
    /// Installs the observer; XCTest creates a test bundle's principal class on the main thread.
    override public init() {
        super.init()
        Self.install()
    }
}
#else
/// An observer that leaves a bundle for each failing XCTest.
///
/// Linking the product `FailureArtifacts` to a test target installs the observer before the first test;
/// ``install(_:)`` installs it by hand.
public enum FailureObserver {}
#endif

extension FailureObserver {
    // Written on the main thread only, see `install`.
    nonisolated(unsafe) private static var observation: TestObservation?

    /// Installs the observer, or changes the configuration of the installed one.
    ///
    /// Call this method on the main thread, between tests or in a test's `setUp`, because XCTest doesn't synchronize
    /// its observers. Further calls add no second observer. With the mode ``CaptureConfiguration/Mode/off``, no
    /// observer is installed, and an installed one captures no further test.
    ///
    /// If the environment turned capturing off, the first test that is captured is the one that starts after this call.
    ///
    /// - Parameter configuration: The configuration from now on. Its values replace those of the environment; by
    ///   default it has the environment's.
    public static func install(_ configuration: CaptureConfiguration = CaptureConfiguration()) {
        CaptureSession.shared.configure(configuration)
        guard configuration.mode != .off else { return }
        #if canImport(ObjectiveC)
        // The process starts, and XCTest creates its principal class, on the main thread.
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

/// Installs the adapters, and the observer unless the environment turns capturing off; called by C at process start.
@_cdecl("failure_artifacts_install")
func installAtProcessStart() {
    SwiftTesting.install()
    #if canImport(ObjectiveC)
    // Before the first container loads its stores.
    let coreData: AnyClass? = NSClassFromString("FailureArtifactsCoreData.CoreDataInstaller")
    (coreData as? any AdapterInstaller.Type)?.install()
    #endif
    let configuration = CaptureConfiguration()
    if configuration.mode != .off { FailureObserver.install(configuration) }
}

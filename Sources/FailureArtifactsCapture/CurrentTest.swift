#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// The test that is running, with the content for its bundle if it fails.
///
/// All functions may be called from any thread, and cost very little while a test passes. They do nothing between tests
/// or if capturing is off.
public enum CurrentTest {
    /// Captures a store that isn't discovered automatically, or names one that is.
    ///
    /// - Parameters:
    ///   - url: The database file, which need not exist yet.
    ///   - name: The store's name in the bundle; by default, the file's name.
    public static func register(storeAt url: URL, named name: String? = nil) {
        let path = Path.absolute(url.path(percentEncoded: false))
        guard !CaptureSession.isInChild, let test = CaptureSession.shared.currentTest else { return }
        test.state.withLock { $0.registered.append((path, name)) }
        CaptureSession.shared.storeOpened(path, by: test)
    }

    /// Copies the test's stores in their current state, for its bundle if it fails later.
    ///
    /// Call it on the test's own thread, because the thread identifies the test's own connections. It takes as long as
    /// copying the stores' files. If a copy has the same bytes as an earlier one, the bundle contains them once.
    ///
    /// - Parameter label: The name of the copies' folder below `snapshots/`. Characters that are invalid in file names
    ///   are replaced. A label that was already used gets a number.
    public static func snapshot(_ label: String) {
        guard !CaptureSession.isInChild, let test = CaptureSession.shared.currentTest else { return }
        CaptureSession.shared.takeSnapshot(label, of: test)
    }

    /// Adds data to the bundle.
    ///
    /// - Parameters:
    ///   - data: The content, kept in memory until the test ends.
    ///   - name: The file's name below `attachments/`. Characters that are invalid in file names are replaced.
    public static func attach(_ data: Data, named name: String) {
        attach(.bytes(Array(data)), name)
    }

    /// Adds a file to the bundle.
    ///
    /// - Parameters:
    ///   - file: A file. It is read at the test's next capture, such as its failure, and not by this call.
    ///   - name: The name below `attachments/`; by default, the file's name.
    public static func attach(_ file: URL, named name: String? = nil) {
        let path = Path.absolute(file.path(percentEncoded: false))
        attach(.file(path), name ?? Path.name(of: path))
    }

    private static func attach(_ source: RunningTest.AttachmentSource, _ name: String) {
        if CaptureSession.isInChild { return }
        CaptureSession.shared.currentTest?.state.withLock { $0.attachments.append((name, source)) }
    }
}

extension CaptureConfiguration {
    /// The configuration that applies from now on, for all test frameworks.
    ///
    /// It may be changed from any thread, and applies to the failures that follow.
    public static var current: CaptureConfiguration {
        get { CaptureSession.shared.configuration }
        set { CaptureSession.shared.configure(newValue) }
    }
}

extension CaptureSession {
    /// The session of this process, which every adapter reports to.
    package static let shared = CaptureSession(configuration: CaptureConfiguration())
}

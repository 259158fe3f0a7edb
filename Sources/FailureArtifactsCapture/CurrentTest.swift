#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
internal import FailureArtifactsSystem

/// The test that is running: what it wants to have in its bundle should it fail.
///
/// All of it may be called from any thread, costs next to nothing while a test passes, and does nothing
/// between tests or where capturing is off.
public enum CurrentTest {
    /// Has a store captured that is not found by itself, or gives a name to one that is.
    ///
    /// - Parameters:
    ///   - url: The database file, which need not exist yet.
    ///   - name: The store's name in the bundle; without one, the file's name.
    public static func register(storeAt url: URL, named name: String? = nil) {
        let path = Path.absolute(url.path(percentEncoded: false))
        guard let test = CaptureSession.shared.currentTest else { return }
        test.state.withLock { $0.registered.append((path, name)) }
        CaptureSession.shared.storeOpened(path, by: test)
    }

    /// Copies the test's stores as they are now, to be in its bundle should it fail later.
    ///
    /// To be called on the test's own thread: that is how its own connections are told from others'. It takes
    /// as long as copying the stores' files. Where the copies have the bytes of earlier ones, the bundle holds
    /// them once.
    ///
    /// - Parameter label: The copies' folder below `snapshots/`; what file systems do not take in it is
    ///   replaced, and a label that was given before gets a number.
    public static func snapshot(_ label: String) {
        guard let test = CaptureSession.shared.currentTest else { return }
        CaptureSession.shared.takeSnapshot(label, of: test)
    }

    /// Puts data into the bundle.
    ///
    /// - Parameters:
    ///   - data: The content, kept in memory until the test ends.
    ///   - name: The file's name below `attachments/`; what file systems do not take in it is replaced.
    public static func attach(_ data: Data, named name: String) {
        attach(.bytes(Array(data)), name)
    }

    /// Puts a file into the bundle.
    ///
    /// - Parameters:
    ///   - file: A file. It is read when the test fails, not before.
    ///   - name: The name below `attachments/`; without one, the file's name.
    public static func attach(_ file: URL, named name: String? = nil) {
        let path = Path.absolute(file.path(percentEncoded: false))
        attach(.file(path), name ?? Path.name(of: path))
    }

    private static func attach(_ source: RunningTest.AttachmentSource, _ name: String) {
        CaptureSession.shared.currentTest?.state.withLock { $0.attachments.append((name, source)) }
    }
}

extension CaptureConfiguration {
    /// What is captured from now on, whatever test framework runs the tests.
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

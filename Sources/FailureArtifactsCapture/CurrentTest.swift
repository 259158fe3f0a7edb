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
        guard let test = CaptureSession.shared.currentTest else { return }
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
        guard let test = CaptureSession.shared.currentTest else { return }
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

    /// Adds the changes of a directory's files to the bundle, from now to the test's first failure.
    ///
    /// Call it when the test starts. It lists the files and reads the small ones: at most 2000 files, the content of at
    /// most 500 of them with up to 256 KiB each and 4 MiB in all, and for at most 2 seconds. Symbolic links are not
    /// followed. At the failure, added, modified and deleted files go to `files/<name>/start` and
    /// `files/<name>/failure`, up to 4 MiB each. SQLite databases are only named, because stores are captured anyway. If
    /// the process dies, the changes are lost.
    ///
    /// - Parameters:
    ///   - directory: The directory, which need not exist yet, or a single file.
    ///   - name: The folder's name below `files/`; by default, the directory's name. Characters that are invalid in file
    ///     names are replaced. A name that was already used gets a number.
    public static func watch(directory: URL, named name: String? = nil) {
        var path = Path.absolute(directory.path(percentEncoded: false))
        if path.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard let test = CaptureSession.shared.currentTest else { return }
        let excluded = CaptureSession.shared.artifactsDirectory.path
        test.watch(FileWatch(path: path, name: name ?? Path.name(of: path), leavingOut: excluded))
    }

    /// Adds the changes of a suite of `UserDefaults` to the bundle, from now to the test's first failure.
    ///
    /// Call it when the test starts. At the failure, the suite's values go to `files/<name>/start` and
    /// `files/<name>/failure`, as property lists in XML, unless they are the same.
    ///
    /// - Parameter name: The name that was passed to `UserDefaults(suiteName:)`; for `UserDefaults.standard`, the bundle
    ///   identifier of the app.
    public static func watch(userDefaultsSuite name: String) {
        guard let test = CaptureSession.shared.currentTest else { return }
        test.watch(FileWatch(userDefaultsSuite: name))
    }

    private static func attach(_ source: RunningTest.AttachmentSource, _ name: String) {
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

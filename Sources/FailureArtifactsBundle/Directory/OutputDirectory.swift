internal import FailureArtifactsSystem

/// The directory for bundles: the configured one, or a fallback if that can't be created or written.
///
/// The fallback is `failure-artifacts` below the temporary directory. Once bundles go there, they do so until the
/// process ends. May be used from any thread.
package final class OutputDirectory: Sendable {
    private struct State {
        var path: String
        var warning: String?
    }

    /// The absolute path of the configured directory.
    private let configured: String
    private let state: Lock<State>

    /// Starts with the configured directory, an absolute path.
    package init(_ path: String) {
        configured = path
        state = Lock(State(path: path))
    }

    package var path: String { state.withLock(\.path) }

    /// A full sentence about the use of the fallback; nil while the configured directory is used.
    package var warning: String? { state.withLock(\.warning) }

    /// Runs `body`, which creates the directory, and once more with the fallback if the directory refuses access.
    ///
    /// If the fallback can't be written either, this throws the error of the first attempt.
    package func use<Result>(_ body: (String) throws -> Result) throws -> Result {
        let path = path
        do {
            return try body(path)
        } catch let error as SystemError where error.isRefusal && path == configured {
            guard let fallback = Self.fallback, (try? Self.create(fallback)) != nil else { throw error }
            let result = Swift.Result { try body(fallback) }
            if case .failure(let other) = result, other is SystemError {
                ArtifactsDirectory(path: fallback).removeIfEmpty()
                throw error
            }
            replace(by: fallback, because: error)
            return try result.get()
        }
    }

    /// Chooses the directory before anything is written, as far as permissions allow a prediction.
    package func choose() {
        guard path == configured, let obstacle = FileSystem.obstacle(toWritingInto: configured),
            let fallback = Self.fallback, FileSystem.obstacle(toWritingInto: fallback) == nil
        else { return }
        replace(by: fallback, because: obstacle)
    }

    private func replace(by path: String, because error: SystemError) {
        state.withLock { state in
            state.path = path
            state.warning =
                "No bundle can be written to '\(configured)': \(error). Bundles go to '\(path)' instead. "
                + "Set FAILURE_ARTIFACTS_DIR to a directory that can be written to."
        }
    }

    // MARK: The temporary directory

    /// The fallback directory; nil if there is no temporary directory or another user owns that path.
    ///
    /// Another user's directory is not used because stores may contain secrets.
    private static var fallback: String? {
        let parent = Path.absolute(FileSystem.temporaryDirectory)
        guard (try? FileSystem.status(of: parent))?.kind == .directory else { return nil }
        let path = Path.join(parent, ArtifactsDirectory.defaultName)
        do throws(SystemError) {
            guard let status = try FileSystem.statusWithoutFollowing(path) else { return path }
            return status.kind == .directory && status.owner == geteuid() ? path : nil
        } catch {
            return nil
        }
    }

    /// Creates the fallback, and checks that another user has not created it first.
    private static func create(_ path: String) throws(SystemError) {
        try FileSystem.createDirectory(path)
        guard fallback == path else { throw SystemError("use", path, code: EPERM) }
    }
}

extension SystemError {
    /// True if a directory can't be created or written for a lasting reason.
    ///
    /// A lack of space or of descriptors is not lasting.
    fileprivate var isRefusal: Bool {
        [EACCES, EPERM, EROFS, EEXIST, ENOTDIR, ENOENT, ELOOP, ENAMETOOLONG].contains(code)
    }
}

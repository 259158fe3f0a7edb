internal import FailureArtifactsSystem

/// The directory that bundles go to: the configured one, or `failure-artifacts` below the temporary directory where
/// that can't be created or written.
///
/// Once bundles go elsewhere, they do so until the process ends. May be used from any thread.
package final class OutputDirectory: Sendable {
    private struct State {
        var path: String
        var warning: String?
    }

    /// Absolute.
    private let configured: String
    private let state: Lock<State>

    /// - Parameter path: The configured directory, absolute.
    package init(_ path: String) {
        configured = path
        state = Lock(State(path: path))
    }

    /// The directory of bundles, as far as it is known.
    package var path: String { state.withLock(\.path) }

    /// A full sentence about the directory that is used instead of the configured one; nil where that is used.
    package var warning: String? { state.withLock(\.warning) }

    /// Runs `body` in the directory, and once more in the temporary directory if this one refuses.
    ///
    /// - Parameter body: Gets the directory. It creates it.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; the first time, if nothing can be written in the temporary directory either.
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

    /// Chooses the directory before anything is written, as far as permissions tell.
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

    /// The directory below the temporary one; nil without a temporary directory, and if another user owns what has
    /// that name: stores may hold secrets.
    private static var fallback: String? {
        let parent = Path.absolute(FileSystem.temporaryDirectory)
        guard (try? FileSystem.status(of: parent))?.kind == .directory else { return nil }
        let path = Path.join(parent, "failure-artifacts")
        do throws(SystemError) {
            guard let status = try FileSystem.statusWithoutFollowing(path) else { return path }
            return status.kind == .directory && status.owner == geteuid() ? path : nil
        } catch {
            return nil
        }
    }

    /// Creates it, and checks that no other user was faster.
    private static func create(_ path: String) throws(SystemError) {
        try FileSystem.createDirectory(path)
        guard fallback == path else { throw SystemError("use", path, code: EPERM) }
    }
}

extension SystemError {
    /// Whether a directory can't be created or written for a reason that lasts: it isn't the lack of room or of
    /// descriptors.
    fileprivate var isRefusal: Bool {
        [EACCES, EPERM, EROFS, EEXIST, ENOTDIR, ENOENT, ELOOP, ENAMETOOLONG].contains(code)
    }
}

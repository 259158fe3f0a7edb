internal import FailureArtifactsSystem

/// Runs the copies that libraries make, each on a thread of its own and for a limited time.
///
/// A library may wait for a lock that the failing test holds. A thread can't be stopped from outside, so a copy that
/// exceeds its time is left alone. No other copy is started before it has ended, so at most one such thread exists.
final class LibraryCopier: Sendable {
    /// The reason why there is no copy.
    struct Failure: Error, CustomStringConvertible {
        /// The end of a sentence.
        let description: String
        /// True if the copy exceeded its time.
        var isTimeLimit = false
    }

    private typealias Outcome = Result<[LibraryStore.ExternalFile], Failure>

    private enum Progress {
        case running
        case ended(Outcome)
        /// The time was up; the result isn't used any more.
        case abandoned
    }

    /// True if a copy that exceeded its time is still running.
    private let hasAbandonedCopy = Lock(false)

    /// The start of the names of the directories that copies are made in.
    static let directoryPrefix = "failure-artifacts-copy-"

    /// Runs a copy for a limited time, and returns the files that belong to the copy.
    ///
    /// The target is in a directory of its own. If the time is up, that directory is removed when the copy has ended,
    /// besides being removed by the caller.
    func run(
        _ copy: @escaping @Sendable (_ target: String) throws -> [LibraryStore.ExternalFile],
        to target: String, within seconds: Double
    ) throws(Failure) -> [LibraryStore.ExternalFile] {
        if hasAbandonedCopy.withLock({ $0 }) {
            throw Failure(description: "an earlier copy has not ended yet")
        }
        let progress = ConditionLock(Progress.running)
        let isStarted = Threads.detach { [self] in
            let result = Self.result(of: copy, to: target)
            let isLate = progress.update { progress in
                if case .abandoned = progress { return true }
                progress = .ended(result)
                return false
            }
            guard isLate else { return }
            try? FileSystem.remove(Path.directory(of: target))
            hasAbandonedCopy.withLock { $0 = false }
        }
        guard isStarted else { throw Failure(description: "the system refused a thread") }
        let ended = progress.wait(until: Instant.now.advanced(bySeconds: seconds)) { progress in
            if case .ended(let result) = progress { result } else { nil }
        }
        if let ended { return try ended.get() }
        // The copy may have ended since.
        let last = progress.update { progress -> Outcome? in
            if case .ended(let result) = progress { return result }
            hasAbandonedCopy.withLock { $0 = true }
            progress = .abandoned
            return nil
        }
        if let last { return try last.get() }
        throw Failure(description: "it took more than \(seconds) s", isTimeLimit: true)
    }

    private static func result(
        of copy: (_ target: String) throws -> [LibraryStore.ExternalFile], to target: String
    ) -> Outcome {
        do {
            let files = try copy(target)
            guard FileSystem.regularFile(target) != nil else {
                return .failure(Failure(description: "it left no file"))
            }
            return .success(files)
        } catch {
            return .failure(Failure(description: "\(error)"))
        }
    }
}

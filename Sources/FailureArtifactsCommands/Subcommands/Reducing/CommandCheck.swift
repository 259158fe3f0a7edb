internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

/// A check that holds for a store if a command fails with it in the same way as it did first.
final class CommandCheck {
    /// A failure of the command.
    struct Failure: CustomStringConvertible {
        let end: RepeatedCommand.End
        /// The lines of source code at which tests failed.
        let places: Set<String>

        var description: String {
            if !places.isEmpty { return "at " + places.sorted().prefix(3).joined(separator: ", ") }
            return switch end {
            case .timedOut: "by its time limit"
            case .ended(let status): "with status \(status.code)"
            }
        }

        func isLike(_ other: Failure) -> Bool {
            // Another test may fail, too, because its rows are gone.
            other.places.isEmpty ? end == other.end : !places.isDisjoint(with: other.places)
        }
    }

    private let command: RepeatedCommand
    private let fixture: String
    private let log: String
    /// The first failure; nil before it.
    private(set) var expected: Failure?

    /// Creates a check.
    init(_ command: RepeatedCommand, fixture: String, log: String) {
        self.command = command
        self.fixture = fixture
        self.log = log
    }

    /// Runs the command with a store.
    ///
    /// True if the command fails like the first time.
    func holds(for path: String) throws -> Bool {
        for suffix in ["", "-journal", "-wal", "-shm"] { try? FileSystem.remove(fixture + suffix) }
        try FileSystem.rename(path, to: fixture)
        let end = try command.run(setting: ["FAILURE_ARTIFACTS_FIXTURE": fixture], output: log)
        guard end != .ended(.exited(0)) else { return false }
        let failure = Failure(end: end, places: try FailurePlaces.places(inOutput: log))
        guard let expected else {
            expected = failure
            return true
        }
        return failure.isLike(expected)
    }

    /// Returns the last lines that the command wrote.
    func lastOutput() throws -> [String] {
        let bytes = try FileSystem.contents(ofFile: log).suffix(8 << 10)
        return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).suffix(10)
            .map(String.init)
    }
}

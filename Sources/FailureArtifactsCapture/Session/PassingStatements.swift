internal import CFailureArtifactsCapture
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// The statements of passing tests on their way into their baselines.
///
/// It can be used from any thread. Files are written when much has been collected, and at the end of the process.
final class PassingStatements: Sendable {
    /// The size of the collected statements after which they are written, in bytes.
    private static let maximumBytes = 16 << 20

    private struct State {
        var tests: [BaselineDirectory.PassedTest] = []
        var bytes = 0
        /// The numbers of passing tests with a difference from their baselines.
        var differences: [CommonDifference: Int] = [:]
        /// The files of the tests that were compared, see ``BaselineDirectory/countDifferences(of:in:_:_:)``.
        var compared: [String: Int64] = [:]
    }

    let directory: BaselineDirectory
    private let state = Lock(State())

    init(_ directory: BaselineDirectory) { self.directory = directory }

    /// Collects the statements of a test that has ended, if it has passed; returns true if they should be written now.
    ///
    /// Call it on the thread that ends the test.
    func end(_ test: RunningTest, hasPassed: Bool) -> Bool {
        var (statements, length) = (0, 0)
        guard let bytes = failure_artifacts_baseline_take(test.id, hasPassed, &statements, &length)
        else {
            return false
        }
        defer { free(bytes) }
        let all = UnsafeRawBufferPointer(start: bytes, count: length)
        let collected = BaselineDirectory.PassedTest(
            test.identity, at: test.date,
            statements: Array(UnsafeRawBufferPointer(rebasing: all[..<statements])),
            stacks: stride(from: statements, to: length, by: 4).map {
                all.loadUnaligned(fromByteOffset: $0, as: UInt32.self)
            })
        return state.withLock { state in
            state.tests.append(collected)
            state.bytes += length
            return state.bytes > Self.maximumBytes
        }
    }

    /// Returns the last passing runs of a test that has failed, the newest one first.
    ///
    /// Call it on the packer's thread.
    func baselines(of test: BundleMetadata.Test) -> [Baseline] {
        var baselines = directory.baselines(of: test, in: .current)
        if baselines.isEmpty { return [] }
        var current = state.withLock { $0 }
        directory.countDifferences(
            of: current.tests, in: .current, &current.differences, &current.compared)
        state.withLock { ($0.differences, $0.compared) = (current.differences, current.compared) }
        // What only one test does differently may be the failure's cause, in a test that doesn't notice it.
        baselines[0].common = current.differences.filter { $0.value > 1 }.keys.sorted()
        return baselines
    }

    /// Notes that a test has failed, and returns the earlier occurrences of the failure; nil without any.
    func noteFailure(
        of test: BundleMetadata.Test, _ fingerprint: String, at: String
    ) -> BundleMetadata.SeenBefore? {
        directory.noteFailure(
            of: test, fingerprint, at: at, in: .current,
            commit: CheckedOutCommit.current(in: Path.currentDirectory))
    }

    /// Writes what was collected.
    func write() {
        let tests = state.withLock { state in
            defer { (state.tests, state.bytes) = ([], 0) }
            return state.tests
        }
        if tests.isEmpty { return }
        directory.record(
            tests, of: CheckedOutCommit.current(in: Path.currentDirectory), in: .current,
            by: Self.runsInParallel ? nil : .shared
        ) { number in
            var count: UInt32 = 0
            let addresses = failure_artifacts_baseline_stack(number, &count)
            return Array(UnsafeBufferPointer(start: addresses, count: Int(count)))
        }
    }

    /// True if each test has a process of its own, which would look up the lines of one test.
    private static var runsInParallel: Bool {
        let arguments = try? FileSystem.contents(ofFile: "/proc/\(getppid())/cmdline")
        return arguments?.split(separator: 0).contains { $0.elementsEqual("--parallel".utf8) } ?? false
    }
}

package import FailureArtifactsSQLite
package import FailureArtifactsSystem

/// Makes the bundles that processes could not make themselves.
///
/// These are bundles of tests that were running when their process died, and of failures that were not packed yet.
/// Recovery works from outside, on the files in the hidden directory and on the store files. It doesn't change the
/// original stores: it recovers a store's rollback journal on the copy. Several processes may recover at the same time; each
/// bundle is made once.
package struct CrashRecovery: Sendable {
    /// The reason why a test has not ended.
    package struct Cause: Sendable {
        package var outcome: BundleMetadata.Outcome
        /// The known facts, as full sentences.
        package var message: String
        /// The source file where it happened; nil if unknown.
        package var file: String?
        /// The line in that file, counted from 1; nil if unknown.
        package var line: Int?
        /// The frames of the thread that crashed, as Swift's backtrace prints them; empty if unknown.
        package var frames: [String] = []
        /// The sentence about other tests that were running; nil if no other test may have been the cause.
        fileprivate(set) var note: String?
        /// The tests that may have crashed; nil if it was the test whose bundle is made.
        fileprivate(set) var suspects: BundleMetadata.Suspects?

        package init(outcome: BundleMetadata.Outcome, message: String) {
            self.outcome = outcome
            self.message = message
        }

        /// The cause if no process observed the end.
        package static let unknown = Cause(
            outcome: .crashed, message: "The process ended in the middle of the test.")
    }

    /// A bundle that was made of what a dead process left.
    package struct Recovered: Sendable {
        package let path: String
        package let test: BundleMetadata.Test
        package let outcome: BundleMetadata.Outcome
        package let hasStores: Bool
        /// True if the test had not ended when its process died.
        package let isInterrupted: Bool
    }

    package struct Result: Sendable {
        package var bundles: [Recovered] = []
        /// Problems, as full sentences.
        package var warnings: [String] = []

        package init() {}
    }

    let directory: ArtifactsDirectory
    let limits: DirectoryLimits
    /// Redaction rules, in addition to those in the recorders.
    let redactions: RedactionRules

    package init(
        of directory: ArtifactsDirectory, limits: DirectoryLimits,
        redactions: RedactionRules = RedactionRules()
    ) {
        self.directory = directory
        self.limits = limits
        self.redactions = redactions
    }

    // MARK: Processes

    /// The living processes that are in the middle of a test, according to their recorders.
    package var processesInTests: Set<ProcessIdentity> {
        Set(directory.recorders.filter { !$0.isOfDeadProcess && !$0.tests.isEmpty }.map(\.process))
    }

    /// The dead processes that left an unfinished test in a recorder or in a staging directory.
    package var deadProcesses: Set<ProcessIdentity> {
        let recorders = directory.recorders.filter { $0.isOfDeadProcess && !$0.tests.isEmpty }
        let stagingDirectories = directory.stagingDirectories.filter {
            $0.isOfDeadProcess && !$0.isEnded
        }
        return Set(recorders.map(\.process) + stagingDirectories.map(\.process))
    }

    /// The unfinished tests of the dead processes, as far as their recorders tell them.
    package var testsOfDeadProcesses: [ProcessIdentity: [BundleMetadata.Test]] {
        var tests: [ProcessIdentity: [BundleMetadata.Test]] = [:]
        for recorder in directory.recorders where recorder.isOfDeadProcess {
            tests[recorder.process] = recorder.tests.map(\.identity)
        }
        return tests
    }

    /// True if a process that has died left a test without its bundle, so that a ``sweep(cause:)`` would make it.
    package var hasUnfinishedTests: Bool {
        directory.recorders.contains { $0.isAbandoned && !$0.tests.isEmpty }
            || directory.stagingDirectories.contains { staging in
                staging.isAbandoned && (try? directory.unpacked(staging.read())) ?? nil != nil
            }
    }

    /// True if all tests of dead processes are known to have run on this machine, in this directory.
    ///
    /// A sweep copies the files that recorders name. It leaves out what can't be read.
    package var isOriginal: Bool {
        let recorders = directory.recorders.filter(\.isReadable)
        let originals = Set(recorders.filter(\.isOriginal).map(\.process))
        return recorders.allSatisfy { !$0.isAbandoned || originals.contains($0.process) }
            && directory.stagingDirectories.allSatisfy {
                !$0.isAbandoned || originals.contains($0.process) || (try? $0.read()) == nil
            }
    }

    /// Makes the bundles of all processes that have died.
    ///
    /// The files of living processes are left alone. `cause` returns the reason why the tests of a process have not
    /// ended.
    package func sweep(
        cause: @escaping (ProcessIdentity) -> Cause = { _ in .unknown }
    ) -> Result {
        var sweep = Sweep(recovery: self, cause: cause)
        sweep.run()
        return sweep.result
    }
}

extension CrashRecovery.Cause {
    /// Returns the cause with a note, if tests ran in parallel.
    ///
    /// A crash ends all tests of the process. Only the backtrace may tell which of them crashed.
    func noting(_ test: BundleMetadata.Test, among running: [BundleMetadata.Test]) -> Self {
        guard outcome == .crashed, running.count > 1 else { return self }
        let crashed = running.filter { $0.isNamed(in: frames) }
        let includesTest = crashed.isEmpty || crashed.contains(test)
        let suspects = crashed.isEmpty ? running : crashed
        guard suspects.count > 1 || !includesTest else { return self }
        var seen: Set<String> = []
        let names = suspects.map { $0.suite.isEmpty ? $0.name : $0.suite + "." + $0.name }
            .filter { seen.insert($0).inserted }
        let named = Array(names.prefix(BundleMetadata.Suspects.namedTests))
        var cause = self
        cause.suspects = .init(count: suspects.count, tests: named, includesTest: includesTest)
        let rest = names.count - named.count
        cause.note =
            includesTest
            ? "\(suspects.count) tests were running in the process, and any of them may be the cause."
            : "The thread that crashed ran another test of the process: "
                + named.joined(separator: ", ") + (rest > 0 ? " and \(rest) more." : ".")
        return cause
    }
}

extension BundleMetadata.Test {
    /// True if one of a backtrace's frames has the test's function.
    package func isNamed(in frames: [String]) -> Bool {
        let suite = suite.replacing("/", with: ".")
        let function = " " + (suite.isEmpty ? "" : suite + ".") + name.prefix { $0 != "(" } + "("
        return frames.contains { $0.contains(function) }
    }
}

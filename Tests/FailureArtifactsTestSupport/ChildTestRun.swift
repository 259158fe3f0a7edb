package import FailureArtifactsBundle
import FailureArtifactsCapture
import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

/// A run of some tests of this test bundle in a child process that captures failures.
///
/// In this process capturing is off, although the adapters are linked. The tests that fail on purpose run in a child
/// only: ``isChild`` is false elsewhere, and they do nothing.
package final class ChildTestRun {
    /// The tests to run.
    package enum Selection {
        /// Tests of XCTest: `Module.Class`, or `Module.Class/method`.
        case xctest(String)
        /// Tests of Swift Testing whose identifiers a regular expression matches.
        case swiftTesting(String)

        fileprivate var arguments: [String] {
            switch self {
            case .xctest(let name): [name]
            case .swiftTesting(let filter):
                ["--testing-library", "swift-testing", "--filter", filter]
            }
        }
    }

    private static let childVariable = "FAILURE_ARTIFACTS_UNIT_TESTS_CHILD"

    /// True in a child process.
    package static let isChild = ProcessEnvironment.variables[childVariable] != nil

    /// True if the test bundle is a program that runs by itself, which isn't so on Apple platforms.
    package static var isPossible: Bool {
        #if os(Linux)
        return true
        #else
        return false
        #endif
    }

    /// The exit status, or the number of the signal that ended the process.
    package let status: Int32
    /// True if a signal ended the process.
    package let wasKilled: Bool
    /// Standard output and standard error.
    package let output: String
    /// The working directory, removed with this object.
    package let directory: String

    private init(_ program: FinishedProgram, _ directory: String) {
        status = program.status
        wasKilled = program.wasKilled
        output = program.output
        self.directory = directory
    }

    deinit { try? FileSystem.remove(directory) }

    /// Runs tests in a child process and waits for its end.
    ///
    /// Its environment has the variables and otherwise only the search paths. Bundles are in `failure-artifacts` in its
    /// directory, unless a variable names another directory. It uses the directory of an earlier run if there is one.
    package static func run(
        _ selection: Selection, _ variables: [String: String] = [:], after earlier: ChildTestRun? = nil
    ) throws -> ChildTestRun {
        let directory =
            try earlier?.directory
            ?? FileSystem.createUniqueDirectory(
                in: FileManager.default.temporaryDirectory.path, prefix: "child tests ")
        let scratch = Path.join(directory, "tmp")
        try FileSystem.createDirectory(scratch)
        let testBundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let environment = ProcessEnvironment.variables
            .filter { ["PATH", "HOME", "LD_LIBRARY_PATH"].contains($0.key) }
            .merging([
                "TMPDIR": scratch, "SWIFT_BACKTRACE": "enable=no", "FAILURE_ARTIFACTS": "first-failure",
                "FAILURE_ARTIFACTS_BASELINE": Path.join(directory, "baselines"), childVariable: "1",
            ]) { $1 }
            .merging(variables) { $1 }
        let program = try runProgram(
            [testBundle] + selection.arguments, environment: environment, directory: directory)
        return ChildTestRun(program, directory)
    }

    /// The number of tests that were run, as both frameworks print it; nil if there is no such line.
    package var testCount: Int? {
        let lines = output.matches(of: /(?:Executed|Test run with) (\d+) tests?/)
        return lines.last.flatMap { Int($0.output.1) }
    }

    /// The lines of the collector.
    package var collectorLines: [String] {
        output.split(separator: "\n").filter { $0.hasPrefix("failure-artifacts: ") }.map(String.init)
    }

    /// The names of the stores and directories that the tests have left in the temporary directory.
    package var leftovers: [String] {
        get throws { try FileSystem.contents(ofDirectory: Path.join(directory, "tmp")) }
    }

    /// Returns the bundles in a directory, sorted by their paths; nil if there is no such directory.
    package func bundles(in name: String = "failure-artifacts") throws -> [CapturedBundle]? {
        let artifacts = Path.join(directory, name)
        guard try FileSystem.status(of: artifacts) != nil else { return nil }
        return try BundleLocator.found(at: artifacts).map { finding in
            CapturedBundle(
                path: finding.location.path,
                reader: try BundleReader(finding.location, scratchDirectory: directory),
                of: self)
        }
    }
}

/// A bundle that a child process left.
package struct CapturedBundle {
    package let path: String
    private let reader: BundleReader
    /// The run, whose directory exists as long as this object.
    private let run: ChildTestRun

    fileprivate init(path: String, reader: BundleReader, of run: ChildTestRun) {
        self.path = path
        self.reader = reader
        self.run = run
    }

    package var metadata: BundleMetadata { reader.metadata }

    /// The failures' messages.
    package var messages: [String] { metadata.failures.map(\.message) }

    /// Returns the first column of a query's result in a store, by default the first one; NULLs are `NULL`.
    package func texts(_ sql: String, in store: String? = nil) throws -> [String] {
        let path = try reader.extract(reader.store(named: store), below: run.directory)
        return try ApplicationHandle(path).texts(sql)
    }

    /// Returns the content of an entry.
    package func content(ofEntry name: String) throws -> [UInt8] {
        let path = Path.join(
            try FileSystem.createUniqueDirectory(in: run.directory, prefix: "entry-"), "entry")
        try reader.extract(entryNamed: name, toNewFile: path)
        return try FileSystem.contents(ofFile: path)
    }
}

/// Reads the configuration while the environment turns capturing off; called by C at process start.
@_cdecl("failure_artifacts_tests_configure")
func configureAtProcessStart() {
    _ = CaptureConfiguration.environment
}

internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// The backtrace that Swift's runtime prints of the thread that crashed.
package struct CrashBacktrace: Equatable, Sendable {
    /// The lines with frames, innermost first.
    package let frames: [String]
    /// The fatal error that was printed before it; nil if none was, or several between this backtrace and the one
    /// before it.
    package let fatal: FatalMessage?

    init(frames: [String], fatal: FatalMessage? = nil) {
        self.frames = frames
        self.fatal = fatal
    }

    /// Finds the backtraces in the lines of a log, in order.
    package static func all(in lines: [String]) -> [CrashBacktrace] {
        var backtraces: [CrashBacktrace] = []
        var rest = lines[...]
        while let start = rest.firstIndex(where: {
            $0.hasPrefix("Thread ") && $0.hasSuffix(" crashed:")
        }) {
            let messages = FatalMessage.all(in: Array(rest[..<start]))
            rest = rest[(start + 1)...]
            let frames = rest.prefix { line in
                !["Thread ", "Registers:", "Images"].contains { line.hasPrefix($0) }
            }.filter { !$0.isEmpty }
            backtraces.append(
                CrashBacktrace(frames: frames, fatal: messages.count == 1 ? messages[0] : nil))
        }
        return backtraces
    }

    /// Returns the place of the innermost frame in a package's own sources; nil if the frame or its line is unknown.
    package func place(below root: String) -> (file: String, line: Int)? {
        let mark = " at " + root + "/"
        for frame in frames {
            guard let start = frame.firstRange(of: mark) else { continue }
            let parts = frame[start.upperBound...].split(
                separator: ":", omittingEmptySubsequences: false)
            // Dependencies and generated sources are in a hidden directory.
            guard let path = parts.first, !path.hasPrefix("."), path.hasSuffix(".swift") else {
                continue
            }
            guard parts.count >= 2, let line = Int(parts[1]), line > 0 else { return nil }
            return (root + "/" + path, line)
        }
        return nil
    }
}

struct CrashLog: Sendable {
    /// The end of standard error and of standard output.
    let lines: [String]
    /// The backtraces, in the order of the lines.
    let backtraces: [CrashBacktrace]
    /// The unfinished tests of the processes that died.
    private let tests: [ProcessIdentity: [BundleMetadata.Test]]

    /// Parses the logs, which are the same if both streams go to the same place.
    init(
        standardError: [String], standardOutput: [String],
        tests: [ProcessIdentity: [BundleMetadata.Test]]
    ) {
        lines = standardError + standardOutput
        backtraces =
            CrashBacktrace.all(in: standardError) + CrashBacktrace.all(in: standardOutput)
        self.tests = tests
    }

    /// Returns the backtrace with a test that only this process was running; nil without one, or if there are several.
    func backtrace(of process: ProcessIdentity) -> CrashBacktrace? {
        func isNamed(_ process: ProcessIdentity, _ backtrace: CrashBacktrace) -> Bool {
            tests[process, default: []].contains { $0.isNamed(in: backtrace.frames) }
        }
        let found = backtraces.filter { backtrace in
            isNamed(process, backtrace)
                && !tests.keys.contains { $0 != process && isNamed($0, backtrace) }
        }
        guard let first = found.first, found.allSatisfy({ $0 == first }) else { return nil }
        return first
    }
}

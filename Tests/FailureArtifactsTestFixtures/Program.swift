internal import FailureArtifactsTestPrograms
internal import Foundation

/// The exit status and outputs of a program.
package struct Outcome: Equatable {
    package var status: Int32
    package var output: String
    package var error: String

    package init(status: Int32, output: String, error: String) {
        self.status = status
        self.output = output
        self.error = error
    }
}

/// Runs programs, including the built tool.
package enum Program {
    /// The path of the built tool, which is beside the test bundle in any scratch path.
    package static let tool: String = {
        let file = "failure-artifacts"
        var places = [Bundle.main.bundlePath, CommandLine.arguments[0]]
        places += Bundle.allBundles.map(\.bundlePath)
        if let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
            places.append(link)
        }
        for place in places {
            var folder = URL(fileURLWithPath: place)
            while folder.path.count > 1 {
                let candidate = folder.appendingPathComponent(file).path
                var isDirectory: ObjCBool = false
                if FileManager.default.fileExists(atPath: candidate, isDirectory: &isDirectory),
                    !isDirectory.boolValue
                {
                    return candidate
                }
                folder.deleteLastPathComponent()
            }
        }
        return file
    }()

    /// Runs a program and waits for it.
    ///
    /// The program is named by an absolute path. Its environment is the test's with the given changes.
    package static func run(
        _ path: String, _ arguments: [String], environment: [String: String] = [:],
        directory: String? = nil
    ) throws -> Outcome {
        let finished = try runProgram(
            [path] + arguments,
            environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
            directory: directory, separatesErrors: true)
        return Outcome(
            status: finished.status + (finished.wasKilled ? 128 : 0), output: finished.output,
            error: finished.error)
    }

    /// Runs the built tool.
    package static func tool(
        _ arguments: String..., environment: [String: String] = [:], directory: String? = nil
    ) throws -> Outcome {
        try tool(arguments, environment: environment, directory: directory)
    }

    /// Runs the built tool with the arguments in an array.
    package static func tool(
        _ arguments: [String], environment: [String: String] = [:], directory: String? = nil
    ) throws -> Outcome {
        try run(tool, arguments, environment: environment, directory: directory)
    }

    /// Runs a Python program that reads `input` and prints text.
    package static func python(_ program: String, _ input: String) throws -> String {
        let file = NSTemporaryDirectory() + "/fa-\(UUID().uuidString)"
        try Data(input.utf8).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let outcome = try run("/usr/bin/env", ["python3", "-c", program, file])
        return outcome.status == 0 ? outcome.output : "FAILED: " + outcome.error
    }

    /// Returns the data blocks of a report's page as text.
    package static func blocks(ofPage page: String) throws -> String {
        try python(
            """
            import base64, re, sys, zlib
            for text in re.findall(r'<script type="text/plain" id="[^"]+">([^<]*)</script>', open(sys.argv[1]).read()):
                print(zlib.decompress(base64.b64decode(text)).decode())
            """, page)
    }
}

import FailureArtifactsAnalysis
import FailureArtifactsSystem
import FailureArtifactsTestFixtures

@testable import FailureArtifactsCommands

/// An output that keeps what is written.
final class Memory {
    var bytes: [UInt8] = []
    var text: String { String(decoding: bytes, as: UTF8.self) }

    func output(terminal: Terminal? = nil) -> TextOutput {
        TextOutput(terminal: terminal) { (buffer) throws(SystemError) in
            self.bytes.append(contentsOf: buffer)
        }
    }
}

/// Runs one of the tool's commands inside the test process; `width` is that of a terminal, if there is one.
func run(
    _ arguments: String..., width: Int? = nil, hasColour: Bool = false,
    environment: [String: String] = ["PATH": "/usr/bin:/bin"]
) -> Outcome {
    run(arguments, width: width, hasColour: hasColour, environment: environment)
}

/// The same for arguments that are made elsewhere.
func run(
    _ arguments: [String], width: Int? = nil, hasColour: Bool = false,
    environment: [String: String] = ["PATH": "/usr/bin:/bin"]
) -> Outcome {
    let output = Memory()
    let error = Memory()
    let terminal = width.map { Terminal(width: $0, hasColour: hasColour) }
    let console = Console(
        output: output.output(terminal: terminal), error: error.output(), environment: environment)
    let code = CommandLineTool.run(arguments, console: console)
    return Outcome(status: code.rawValue, output: output.text, error: error.text)
}

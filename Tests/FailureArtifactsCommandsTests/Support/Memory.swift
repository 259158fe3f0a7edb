import FailureArtifactsAnalysis
import FailureArtifactsSystem
import FailureArtifactsTestFixtures

@testable import FailureArtifactsCommands

/// An output that keeps the written bytes.
final class Memory {
    var bytes: [UInt8] = []
    var text: String { String(decoding: bytes, as: UTF8.self) }

    func output(terminal: Terminal? = nil) -> TextOutput {
        TextOutput(terminal: terminal) { (buffer) throws(SystemError) in
            self.bytes.append(contentsOf: buffer)
        }
    }
}

/// Runs a command of the tool in the test process.
///
/// `width` is the width of the terminal; nil without a terminal.
func run(
    _ arguments: String..., width: Int? = nil, hasColour: Bool = false,
    environment: [String: String] = ["PATH": "/usr/bin:/bin"]
) -> Outcome {
    run(arguments, width: width, hasColour: hasColour, environment: environment)
}

/// Runs a command of the tool in the test process, with the arguments in an array.
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

internal import CFailureArtifactsProcesses
package import FailureArtifactsAnalysis

/// A subcommand with its parsed arguments.
package protocol Command {
    static var syntax: Syntax { get }

    var arguments: ParsedArguments { get }

    init(arguments: ParsedArguments)

    func run(_ console: Console) throws -> ExitCode
}

extension Command {
    /// The first argument, which is the path of a bundle or a directory.
    var path: String { arguments.positionals[0] }

    var store: String? { arguments.value(of: "--store") }

    var isJSON: Bool { arguments.has("--json") }

    /// Writes a result as JSON, or else its lines.
    func write(_ document: some Encodable, _ console: Console, lines: () -> [String]) throws {
        if isJSON { return try console.output.writeLine(JSONText.pretty(document)) }
        for line in lines() { try console.output.writeLine(line) }
    }
}

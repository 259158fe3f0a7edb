internal import CFailureArtifactsProcesses
package import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// The command-line tool, from its arguments to its exit status.
package enum CommandLineTool {
    static var commands: [any Command.Type] {
        [
            RunCommand.self, ListCommand.self, ExplainCommand.self, ShowCommand.self, OpenCommand.self,
            QueryCommand.self, HistoryCommand.self, BlameCommand.self, BisectCommand.self,
            DiffCommand.self, ReduceCommand.self, ExtractCommand.self,
            VerifyCommand.self,
            SweepCommand.self, PruneCommand.self, ReportCommand.self, MergeCommand.self,
            JUnitCommand.self, SummaryCommand.self, CommentCommand.self, CompletionsCommand.self,
            SkillCommand.self,
        ]
    }

    package static func run(_ arguments: [String], console: Console) -> ExitCode {
        do {
            let code = try dispatch(arguments, console: console)
            try console.output.flush()
            return code
        } catch let error as OutputError where error.isBrokenPipe {
            return .done
        } catch {
            let failure = console.failure(error)
            console.report(failure)
            return failure.exitCode
        }
    }

    private static func dispatch(_ arguments: [String], console: Console) throws -> ExitCode {
        guard let name = arguments.first else {
            console.say(HelpText.text(for: commands.map { $0.syntax }))
            throw CommandError(.usage, "A command is missing.")
        }
        switch name {
        case "--help", "-h", "help":
            return try help(Array(arguments.dropFirst()), console: console)
        case "--version":
            let commit = failure_artifacts_commit().map { " (\(String(cString: $0)))" } ?? ""
            try console.output.writeLine("failure-artifacts \(ToolVersion.number)\(commit)")
            return .done
        default: break
        }
        let command = try command(named: name)
        let parsed = try command.syntax.parse(
            Array(arguments.dropFirst()), artifacts: console.artifactsPath)
        if parsed.has("--help") {
            try console.output.write(HelpText.text(for: command.syntax))
            return .done
        }
        let value = command.init(arguments: parsed)
        guard command.syntax.option(named: "--no-limits") != nil else { return try value.run(console) }
        return try value.run(console.limited(to: value.readingLimits()))
    }

    private static func help(_ arguments: [String], console: Console) throws -> ExitCode {
        if let name = arguments.first {
            try console.output.write(HelpText.text(for: command(named: name).syntax))
        } else {
            try console.output.write(HelpText.text(for: commands.map { $0.syntax }))
        }
        return .done
    }

    private static func command(named name: String) throws(CommandError) -> any Command.Type {
        if let command = commands.first(where: { $0.syntax.command == name }) { return command }
        let kind = name.hasPrefix("-") ? "option" : "command"
        let nearest = Spelling.clause(
            for: name, among: commands.map { $0.syntax.command } + ["--help", "--version"])
        throw CommandError(
            .usage, "There is no \(kind) '\(name)'\(nearest). See 'failure-artifacts --help'.")
    }
}

internal import FailureArtifactsSystem
internal import FailureArtifactsCommands

let console = Console.process()
console.interruption.watch()
exit(CommandLineTool.run(Array(CommandLine.arguments.dropFirst()), console: console).rawValue)

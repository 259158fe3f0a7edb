internal import FailureArtifactsAnalysis
internal import FailureArtifactsTestRun
internal import FailureArtifactsCommands
internal import FailureArtifactsSystem

let console = Console.process()
console.interruption.watch()
exit(CommandLineTool.run(Array(CommandLine.arguments.dropFirst()), console: console).rawValue)

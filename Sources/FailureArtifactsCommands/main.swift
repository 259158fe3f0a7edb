internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

let console = Console.process()
console.interruption.watch()
exit(CommandLineTool.run(Array(CommandLine.arguments.dropFirst()), console: console).rawValue)

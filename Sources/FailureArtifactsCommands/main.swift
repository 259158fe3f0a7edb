internal import FailureArtifactsAnalysis
internal import FailureArtifactsReport
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

let console = Console.process()
console.interruption.watch(cleanUp: WholeFile.removeUnfinished)
exit(CommandLineTool.run(Array(CommandLine.arguments.dropFirst()), console: console).rawValue)

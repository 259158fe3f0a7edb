internal import FailureArtifactsCommands

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

let console = Console.process()
console.interruption.watch()
exit(CommandLineTool.run(Array(CommandLine.arguments.dropFirst()), console: console).rawValue)

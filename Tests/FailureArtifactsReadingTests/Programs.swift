import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import Foundation

/// Calls a closure with a new directory, which is removed afterwards.
func withTemporaryDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
    let directory = try FileSystem.createUniqueDirectory(
        in: FileManager.default.temporaryDirectory.path, prefix: "reading tests ")
    defer { try? FileSystem.remove(directory) }
    return try body(directory)
}

/// Runs statements in the `sqlite3` program, which shares nothing with this process, and returns its output.
func sqlite3Program(_ path: String, _ sql: String...) throws -> String {
    try program("sqlite3", ["-bail", path] + sql)
}

/// Runs a program, and returns its standard output and standard error.
func program(_ name: String, _ arguments: [String]) throws -> String {
    try requirePrograms(of: [name])
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [name] + arguments
    let output = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .newlines)
}

internal import Foundation

/// Runs a program, and returns its output on both streams without line breaks at the end.
@discardableResult
package func run(_ arguments: String...) throws -> String {
    try runProgram(arguments)
}

/// Runs the `sqlite3` program, a reader that shares nothing with this process.
package func sqlite3Program(_ path: String, _ sql: String...) throws -> String {
    try runProgram(["sqlite3", "-bail", path] + sql)
}

/// Runs a program, and returns its output on both streams without line breaks at the end.
package func runProgram(_ arguments: [String]) throws -> String {
    try requirePrograms(of: arguments)
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    let output = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .newlines)
}

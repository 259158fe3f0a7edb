import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsZip
import Foundation

/// Runs `body` with a new directory, and removes it afterwards.
func withTemporaryDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
    let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
    let directory = try FileSystem.createUniqueDirectory(in: parent, prefix: "zip-tests-")
    defer { try? FileSystem.remove(directory) }
    return try body(directory)
}

/// The result of a child process.
struct Finished {
    let status: Int32
    /// Standard output and standard error.
    let output: String
}

/// Runs a program and waits for it.
///
/// - Parameters:
///   - arguments: The program, looked up in `PATH`, and its arguments.
///   - directory: The working directory.
/// - Returns: The program's status and output.
/// - Throws: An error if the program can't be started.
func run(_ arguments: [String], in directory: String = "/") throws -> Finished {
    let utf8 = ["LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"]
    let finished = try runProgram(
        arguments, environment: ProcessInfo.processInfo.environment.merging(utf8) { $1 },
        directory: directory)
    return Finished(status: finished.status, output: finished.output)
}

/// Incompressible bytes; the same for the same seed.
func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
    return (0..<count).map { _ in
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return UInt8(truncatingIfNeeded: state >> 32)
    }
}

/// The time of all entries in tests.
///
/// It has an odd second, which MS-DOS time can't represent.
let someTime = Timestamp(seconds: 1_795_244_889)

/// Writes an archive of the given files.
func writeArchive(
    _ path: String, _ files: [(name: String, bytes: [UInt8])], level: Int = 1
) throws {
    var writer = try ZipWriter(creating: path, level: level)
    for file in files {
        try writer.addEntry(named: file.name, bytes: file.bytes, modified: someTime)
    }
    try writer.finish()
}

/// Returns the content of all files in an archive, by name.
func readArchive(_ path: String) throws -> [String: [UInt8]] {
    let archive = try ZipArchive(path: path)
    var files: [String: [UInt8]] = [:]
    for entry in archive.entries where !entry.isDirectory {
        files[entry.name] = try archive.contents(of: entry, limit: 1 << 30)
    }
    return files
}

import Foundation
import Testing

/// Programs that tests run, and that a machine with a Swift toolchain may lack.
///
/// `Scripts/test` installs them.
private let optionalPrograms: Set<String> = [
    "bash", "bsdtar", "python3", "sqldiff", "sqlite3", "unzip", "zip",
]

/// Cancels the current test with a warning if a program that it is about to run isn't installed.
///
/// `Scripts/test` counts such a test as a failure.
///
/// - Parameter commandLine: The program and its arguments, which may contain the text of a shell script.
/// - Throws: The error that ends the test.
package func requirePrograms(of commandLine: [String]) throws {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let missing = missingPrograms(of: commandLine, path: path)
    if missing.isEmpty { return }
    let reason: Comment = "needs the program \(missing.joined(separator: " and "))"
    // The test run prints nothing about a single cancelled case of a parameterized test.
    Issue.record(reason, severity: .warning)
    try Test.cancel(reason)
}

/// Returns the optional programs of a command line that no folder of a search path contains.
package func missingPrograms(of commandLine: [String], path: String) -> [String] {
    let words = commandLine.flatMap { $0.split(separator: " ") }.map { word in
        word.hasPrefix("/") ? word.split(separator: "/").last.map(String.init) ?? "" : String(word)
    }
    let folders = path.split(separator: ":")
    return optionalPrograms.intersection(words).sorted().filter { program in
        !folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
    }
}

internal import Foundation

/// Runs a program, and returns its output on both streams without line breaks at the end.
@discardableResult
package func run(_ arguments: String...) throws -> String {
    try runProgram(arguments).text
}

/// Runs the `sqlite3` program, a reader that shares nothing with this process.
package func sqlite3Program(_ path: String, _ sql: String...) throws -> String {
    try runProgram(["sqlite3", "-bail", path] + sql).text
}

/// Runs a program, by an absolute path or a name that is looked up in `PATH`, and waits for its end.
package func runProgram(
    _ arguments: [String], input: [UInt8] = [], environment: [String: String]? = nil,
    directory: String? = nil, separatesErrors: Bool = false
) throws -> FinishedProgram {
    let program = try RunningProgram(
        arguments, hasInput: !input.isEmpty, environment: environment, directory: directory,
        separatesErrors: separatesErrors)
    if !input.isEmpty { try program.write(input) }
    return try program.finish()
}

/// A program that has ended.
package struct FinishedProgram {
    /// The exit status, or the number of the signal that ended the program.
    package let status: Int32
    /// True if a signal ended the program.
    package let wasKilled: Bool
    /// Standard output, and standard error unless it is separate.
    package let output: String
    /// Standard error if it is separate; empty otherwise.
    package let error: String

    /// The output without line breaks at the end.
    package var text: String { output.trimmingCharacters(in: .newlines) }
}

/// A program that runs beside the test.
///
/// It is killed with this object.
package final class RunningProgram {
    private let process = Process()
    private let input: Pipe?
    private let output = Pipe()
    /// The file of a separate standard error.
    ///
    /// A second pipe could fill up while the first one is read.
    private var errors: URL?
    private var unread = Data()

    /// Starts a program; see ``runProgram(_:input:environment:directory:separatesErrors:)``.
    package init(
        _ arguments: [String], hasInput: Bool = true, environment: [String: String]? = nil,
        directory: String? = nil, separatesErrors: Bool = false
    ) throws {
        try requirePrograms(of: arguments)
        let isPath = arguments[0].hasPrefix("/")
        process.executableURL = URL(filePath: isPath ? arguments[0] : "/usr/bin/env")
        process.arguments = isPath ? Array(arguments.dropFirst()) : arguments
        if let environment { process.environment = environment }
        if let directory { process.currentDirectoryURL = URL(filePath: directory) }
        input = hasInput ? Pipe() : nil
        process.standardInput = input ?? FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        if separatesErrors {
            let file = FileManager.default.temporaryDirectory.appending(path: "fa-\(UUID().uuidString)")
            try Data().write(to: file)
            errors = file
            process.standardError = try FileHandle(forWritingTo: file)
        }
        // The threads of the concurrency runtime block signals, and the program would inherit that.
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try process.run()
    }

    deinit {
        kill()
        if let errors { try? FileManager.default.removeItem(at: errors) }
    }

    package var identifier: Int32 { process.processIdentifier }
    package var isRunning: Bool { process.isRunning }

    package func write(_ bytes: [UInt8]) throws {
        try input?.fileHandleForWriting.write(contentsOf: bytes)
    }

    package func closeInput() { try? input?.fileHandleForWriting.close() }

    /// Returns the next line of the output; nil if the program has closed its output before it ended a line.
    package func readLine() -> String? {
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread = Data(unread[(end + 1)...]) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { return nil }
            unread += data
        }
    }

    /// Kills the program at once, as a crash does.
    package func kill() {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Closes the program's input, and waits for its end; the output is what was not read before.
    package func finish() throws -> FinishedProgram {
        closeInput()
        let output = unread + (try output.fileHandleForReading.readToEnd() ?? Data())
        process.waitUntilExit()
        return FinishedProgram(
            status: process.terminationStatus, wasKilled: process.terminationReason == .uncaughtSignal,
            output: String(decoding: output, as: UTF8.self),
            error: String(decoding: try errors.map { try Data(contentsOf: $0) } ?? Data(), as: UTF8.self)
        )
    }
}

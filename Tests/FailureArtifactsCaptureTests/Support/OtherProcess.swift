import FailureArtifactsTestPrograms
import Foundation
import Testing

/// A connection of Python's `sqlite3` in a separate process; it does not wait for locks.
final class OtherProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var unread = Data()

    /// Opens the store at `path`.
    init(_ path: String) throws {
        try requirePrograms(of: ["python3"])
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", Self.script, path]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit { kill() }

    var identifier: Int32 { process.processIdentifier }

    /// Kills the process at once, as a crash does.
    func kill() {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Runs statements, separated by `;`.
    ///
    /// - Returns: The last statement's rows, their columns joined by `|`, or SQLite's message if a statement failed.
    @discardableResult
    func run(_ sql: String) throws -> [String] {
        let request = try JSONSerialization.data(withJSONObject: [sql]) + Data("\n".utf8)
        try input.fileHandleForWriting.write(contentsOf: request)
        while !unread.contains(UInt8(ascii: "\n")) {
            let data = output.fileHandleForReading.availableData
            try #require(!data.isEmpty, "The other process has ended.")
            unread += data
        }
        let end = unread.firstIndex(of: UInt8(ascii: "\n")) ?? unread.endIndex
        let line = unread[..<end]
        unread = Data(unread[unread.index(after: end)...])
        return try #require(JSONSerialization.jsonObject(with: line) as? [String])
    }

    private static let script = """
        import json, sqlite3, sys
        db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
        for line in sys.stdin:
            rows = []
            try:
                for sql in json.loads(line)[0].split(";"):
                    rows = ["|".join(str(value) for value in row) for row in db.execute(sql)]
            except sqlite3.Error as error:
                rows = [str(error)]
            print(json.dumps(rows), flush=True)
        """
}

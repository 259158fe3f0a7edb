import FailureArtifactsTestPrograms
import Foundation
import Testing

/// A connection of Python's `sqlite3` in a separate process; it does not wait for locks.
final class OtherProcess {
    private let process: RunningProgram

    /// Opens the store at `path`.
    init(_ path: String) throws {
        process = try RunningProgram(["python3", "-c", Self.script, path])
    }

    var identifier: Int32 { process.identifier }

    /// Kills the process at once, as a crash does.
    func kill() { process.kill() }

    /// Runs statements, separated by `;`.
    ///
    /// - Returns: The last statement's rows, their columns joined by `|`, or SQLite's message if a statement failed.
    @discardableResult
    func run(_ sql: String) throws -> [String] {
        try process.write(Array(JSONSerialization.data(withJSONObject: [sql]) + Data("\n".utf8)))
        let line = try #require(process.readLine(), "The other process has ended.")
        return try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String])
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

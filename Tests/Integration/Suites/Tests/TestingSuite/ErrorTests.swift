import CSuiteSQLite
import FailureArtifactsTesting
import Testing

/// Errors of SQLite that a test throws.
@Suite(.failureArtifacts) struct ErrorTests {
    /// An error without a description of its own, whose message Swift prints with escaped quotes.
    private struct Failure: Error {
        let code: Int32
        let message: String
    }

    /// Memory: nothing.
    @Test func theErrorIsAStructure() throws {
        var handle: OpaquePointer?
        sqlite3_open(":memory:", &handle)
        defer { sqlite3_close(handle) }
        sqlite3_exec(handle, "CREATE TABLE fruit(name)", nil, nil, nil)
        let code = sqlite3_exec(handle, "SELECT name FORM fruit", nil, nil, nil)
        guard code == SQLITE_OK else {
            throw Failure(code: code, message: String(cString: sqlite3_errmsg(handle)))
        }
    }
}

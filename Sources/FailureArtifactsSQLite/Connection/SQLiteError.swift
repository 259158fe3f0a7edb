internal import CFailureArtifactsShared
internal import CFailureArtifactsSQLite

/// A call to SQLite that failed.
package struct SQLiteError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The attempted operation, as a verb phrase that fits "cannot …": `open '/tmp/a.sqlite'`.
    package let operation: String
    /// SQLite's extended result code (<https://www.sqlite.org/rescode.html>).
    package let code: CInt
    /// SQLite's message for this failure.
    package let message: String

    package init(_ operation: String, code: CInt, message: String? = nil) {
        self.operation = operation
        self.code = code
        self.message = message ?? String(cString: sqlite3_errstr(code))
    }

    /// Creates an error from the failure of the last call on `handle`.
    package init(_ operation: String, handle: OpaquePointer?) {
        self.init(
            operation, code: sqlite3_extended_errcode(handle),
            message: handle.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory")
    }

    /// Returns SQLite's general message for a result code.
    package static func message(of code: CInt) -> String { String(cString: sqlite3_errstr(code)) }

    /// The part of ``code`` that identifies the kind of failure, such as `SQLITE_BUSY`.
    package var primaryCode: CInt { code & 0xff }

    /// True if a time limit, set as a progress handler, ended the work.
    package var isInterrupted: Bool { primaryCode == SQLITE_INTERRUPT }

    package var isMissingName: Bool {
        message.hasPrefix("no such table: ") || message.hasPrefix("no such column: ")
    }

    package var description: String { "cannot \(operation): \(message) (SQLite error \(code))" }
}

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

    /// True if another connection held a lock for longer than the busy timeout.
    package var isBusy: Bool { primaryCode == SQLITE_BUSY || primaryCode == SQLITE_LOCKED }

    /// True if the file is at fault: it is damaged or not a database.
    package var isDatabaseDamaged: Bool {
        primaryCode == SQLITE_CORRUPT || primaryCode == SQLITE_NOTADB
    }

    /// True if a time limit, set as a progress handler, ended the work.
    package var isInterrupted: Bool { primaryCode == SQLITE_INTERRUPT }

    /// True if a value, a statement or all memory would have been larger than the limits allow.
    package var isTooMuch: Bool { primaryCode == SQLITE_TOOBIG || primaryCode == SQLITE_NOMEM }

    package var description: String { "cannot \(operation): \(message) (SQLite error \(code))" }
}

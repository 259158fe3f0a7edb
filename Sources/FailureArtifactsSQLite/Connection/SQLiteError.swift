internal import CFailureArtifactsSQLite

/// A call to SQLite that failed.
package struct SQLiteError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was attempted, as a verb phrase that fits "cannot …": `open '/tmp/a.sqlite'`.
    package let operation: String
    /// SQLite's extended result code (<https://www.sqlite.org/rescode.html>).
    package let code: CInt
    /// SQLite's words for this very failure.
    package let message: String

    package init(_ operation: String, code: CInt, message: String? = nil) {
        self.operation = operation
        self.code = code
        self.message = message ?? String(cString: sqlite3_errstr(code))
    }

    /// The failure of the last call on `handle`.
    package init(_ operation: String, handle: OpaquePointer?) {
        self.init(
            operation, code: sqlite3_extended_errcode(handle),
            message: handle.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory")
    }

    /// SQLite's words for all failures of a code.
    package static func message(of code: CInt) -> String { String(cString: sqlite3_errstr(code)) }

    /// The part of ``code`` that says the kind of failure, such as `SQLITE_BUSY`.
    package var primaryCode: CInt { code & 0xff }

    /// Whether somebody else held a lock for longer than was waited.
    package var isBusy: Bool { primaryCode == SQLITE_BUSY || primaryCode == SQLITE_LOCKED }

    /// Whether the file is at fault: it is damaged, or no database at all.
    package var isDatabaseDamaged: Bool {
        primaryCode == SQLITE_CORRUPT || primaryCode == SQLITE_NOTADB
    }

    /// Whether the system is at fault: a file could not be opened, read or written, or memory was short.
    package var isOfSystem: Bool {
        [SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_NOMEM, SQLITE_FULL].contains(primaryCode)
    }

    /// Whether a progress handler, that is a time limit, ended the work.
    package var isInterrupted: Bool { primaryCode == SQLITE_INTERRUPT }

    /// Whether a value, a statement or all memory would have been larger than the connection's limits allow.
    package var isTooMuch: Bool { primaryCode == SQLITE_TOOBIG || primaryCode == SQLITE_NOMEM }

    package var description: String { "cannot \(operation): \(message) (SQLite error \(code))" }
}

/// A system call that failed.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was attempted, as a verb that fits "cannot … PATH": `open`, `write to`, `rename`.
    package let operation: String
    /// The path it was attempted on.
    package let path: String
    /// The `errno` of the failed call.
    package let code: CInt

    package init(_ operation: String, _ path: String, code: CInt) {
        self.operation = operation
        self.path = path
        self.code = code
    }

    /// The error of the system call that has just failed on this thread.
    static func last(_ operation: String, _ path: String) -> SystemError {
        SystemError(operation, path, code: errno)
    }

    /// Whether the file or a directory above it does not exist.
    package var isNotFound: Bool { code == ENOENT || code == ENOTDIR }

    /// Whether something of that name exists already.
    package var isAlreadyExists: Bool { code == EEXIST }

    /// The disk is full, or the user's part of it, or the file as large as files may be.
    package var isNoSpace: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }

    /// The system's words for ``code``, such as "No space left on device".
    package var reason: String { String(cString: strerror(code)) }

    package var description: String { "cannot \(operation) '\(path)': \(reason)" }
}

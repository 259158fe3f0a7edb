/// A system call that failed.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The attempted operation, as a verb that fits "cannot … PATH": `open`, `write to`, `rename`.
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

    /// The error of the last failed system call on this thread.
    static func last(_ operation: String, _ path: String) -> SystemError {
        SystemError(operation, path, code: errno)
    }

    /// True if the file or a directory above it does not exist.
    package var isNotFound: Bool { code == ENOENT || code == ENOTDIR }

    /// True if the name is taken.
    package var isAlreadyExists: Bool { code == EEXIST }

    /// True if the disk, the user's quota or the file size limit is exhausted.
    package var isNoSpace: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }

    /// The system's description of ``code``, such as "No space left on device".
    package var reason: String { String(cString: strerror(code)) }

    package var description: String { "cannot \(operation) '\(path)': \(reason)" }

    /// The description as full sentences, with what to do where the reason tells it.
    package var sentence: String {
        let next =
            switch code {
            case EACCES, EPERM: " Check the permissions."
            case ENOSPC, EDQUOT: " Free some space on the disk, and try again."
            default: ""
            }
        return "Cannot \(operation) '\(path)': \(reason)." + next
    }
}

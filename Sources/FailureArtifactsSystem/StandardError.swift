/// The one place this project says things to a person while tests run; standard output belongs to the tests.
package enum StandardError {
    /// Writes one line, in one system call so that lines of several processes do not mix.
    package static func writeLine(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        bytes.withUnsafeBytes { buffer in
            // Nothing can be done about a closed standard error.
            _ = write(STDERR_FILENO, buffer.baseAddress, buffer.count)
        }
    }
}

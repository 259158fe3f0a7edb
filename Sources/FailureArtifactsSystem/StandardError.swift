/// The one place that prints messages while tests run.
///
/// Standard output belongs to the tests.
package enum StandardError {
    /// Writes one line with one system call, so that lines of several processes don't mix.
    ///
    /// If the pipe's reader is gone, the process doesn't receive `SIGPIPE`.
    package static func writeLine(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        bytes.withUnsafeBytes { buffer in
            // An error is ignored: there is no other place to report it.
            discardingSignal(SIGPIPE) { _ = write(STDERR_FILENO, buffer.baseAddress, buffer.count) }
        }
    }
}

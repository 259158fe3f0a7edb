internal import FailureArtifactsSystem

/// What the system says of an output of this process.
package struct Terminal: Equatable, Sendable {
    /// In columns.
    package let width: Int
    package let hasColour: Bool

    package init(width: Int, hasColour: Bool) {
        self.width = width
        self.hasColour = hasColour
    }

    /// The terminal that a descriptor is; nil where it is a file or a pipe.
    ///
    /// - Parameters:
    ///   - descriptor: 1 for standard output, 2 for standard error.
    ///   - environment: `NO_COLOR` (see no-color.org) and `TERM` decide on colour.
    package init?(descriptor: CInt, environment: [String: String]) {
        guard isatty(descriptor) == 1 else { return nil }
        var size = winsize()
        let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        width = isKnown ? Int(size.ws_col) : 80
        hasColour = environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }
}

/// Writes all bytes to a descriptor of this process.
///
/// - Throws: The failure of `write`; `EPIPE` where nobody reads any more.
func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt, name: String) throws(SystemError) {
    var done = 0
    while done < bytes.count {
        guard let base = bytes.baseAddress else { return }
        let count = write(descriptor, base + done, bytes.count - done)
        if count < 0 {
            if errno == EINTR { continue }
            throw SystemError("write to", name, code: errno)
        }
        done += count
    }
}

extension SystemError {
    /// Whether the other end of a pipe is closed.
    var isBrokenPipe: Bool { code == EPIPE }
}

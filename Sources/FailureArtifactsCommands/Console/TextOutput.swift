internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// A failure to write to an output, unrelated to any bundle.
struct OutputError: Error, CustomStringConvertible {
    let error: SystemError

    var description: String { error.sentence }

    /// True if the reader, such as `head`, has closed the pipe.
    var isBrokenPipe: Bool { error.isBrokenPipe }
}

/// A buffered text output: a descriptor of the process, or memory in tests.
package final class TextOutput {
    /// A function that writes the bytes.
    typealias Sink = (UnsafeRawBufferPointer) throws(SystemError) -> Void

    let terminal: Terminal?
    private let sink: Sink
    private var buffer: [UInt8] = []
    private static let bufferSize = 64 << 10

    init(terminal: Terminal?, sink: @escaping Sink) {
        self.terminal = terminal
        self.sink = sink
    }

    convenience init(descriptor: CInt, name: String, environment: [String: String]) {
        self.init(terminal: Terminal(descriptor: descriptor, environment: environment)) {
            (bytes) throws(SystemError) in try writeAll(bytes, to: descriptor, name: name)
        }
    }

    /// Buffers text until the buffer is full or ``flush()`` is called.
    ///
    /// The text is written unchanged, so it is a format for programs, or has no text from a bundle.
    func write(_ text: String) throws(OutputError) {
        buffer.append(contentsOf: text.utf8)
        if buffer.count >= Self.bufferSize { try flush() }
    }

    /// Writes text and a line ending; the text may come from a bundle, so what a CI service would execute as a command
    /// is disarmed.
    func writeLine(_ text: String = "") throws(OutputError) {
        try writeLines(text + "\n")
    }

    /// Writes lines of text, each with its line ending, and disarms commands of CI services as ``writeLine(_:)`` does.
    func writeLines(_ text: String) throws(OutputError) {
        try write(HostCommand.disarmed(text))
    }

    /// Writes the buffered text; after a failure, the buffered text is discarded.
    func flush() throws(OutputError) {
        guard !buffer.isEmpty else { return }
        defer { buffer.removeAll(keepingCapacity: true) }
        do {
            try buffer.withBytes { (bytes) throws(SystemError) in try sink(bytes) }
        } catch {
            throw OutputError(error: error)
        }
    }

    /// Returns `text` in a style if the output is a terminal with colours.
    func styled(_ text: String, _ style: Style) -> String {
        guard terminal?.hasColour == true, !text.isEmpty else { return text }
        return "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
    }

    /// Text styles, by their SGR numbers.
    enum Style: String {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case heading = "1;36"
    }
}

/// The properties of the terminal that an output is connected to.
package struct Terminal: Equatable, Sendable {
    package let width: Int
    package let hasColour: Bool
}

extension Terminal {
    /// Creates the terminal of a descriptor; nil for a file or a pipe.
    ///
    /// - `environment`: the environment variables. `NO_COLOR` (see no-color.org) and `TERM` determine the use
    ///   of colour.
    package init?(descriptor: CInt, environment: [String: String]) {
        guard isatty(descriptor) == 1 else { return nil }
        var size = winsize()
        let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        width = isKnown ? Int(size.ws_col) : 80
        hasColour = environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }
}

/// Writes all bytes to a descriptor of this process; throws the failure of `write`; `EPIPE` if the reader has closed
/// the pipe.
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
    var isBrokenPipe: Bool { code == EPIPE }
}

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

    /// The terminal; nil if the output is not a terminal.
    let terminal: Terminal?
    private let sink: Sink
    private var buffer: [UInt8] = []
    private static let bufferSize = 64 << 10

    init(terminal: Terminal?, sink: @escaping Sink) {
        self.terminal = terminal
        self.sink = sink
    }

    /// Creates an output of this process.
    convenience init(descriptor: CInt, name: String, environment: [String: String]) {
        self.init(terminal: Terminal(descriptor: descriptor, environment: environment)) {
            (bytes) throws(SystemError) in try writeAll(bytes, to: descriptor, name: name)
        }
    }

    /// Buffers text until the buffer is full or ``flush()`` is called.
    func write(_ text: String) throws(OutputError) {
        buffer.append(contentsOf: text.utf8)
        if buffer.count >= Self.bufferSize { try flush() }
    }

    /// Writes text and a line ending.
    func writeLine(_ text: String = "") throws(OutputError) {
        try write(text)
        try write("\n")
    }

    /// Writes the buffered text.
    ///
    /// After a failure, the buffered text is discarded.
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

    /// Returns `text` as a hyperlink (OSC 8) if the output is a terminal with colours.
    func linked(_ text: String, to address: String?) -> String {
        guard terminal?.hasColour == true, let address else { return text }
        return "\u{1B}]8;;\(address)\u{1B}\\\(text)\u{1B}]8;;\u{1B}\\"
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
    /// The width, in columns.
    package let width: Int
    package let hasColour: Bool

    package init(width: Int, hasColour: Bool) {
        self.width = width
        self.hasColour = hasColour
    }

    /// Creates the terminal of a descriptor; nil for a file or a pipe.
    ///
    /// - Parameters:
    ///   - descriptor: 1 for standard output, 2 for standard error.
    ///   - environment: The environment variables. `NO_COLOR` (see no-color.org) and `TERM` determine the use of
    ///     colour.
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
/// - Throws: The failure of `write`; `EPIPE` if the reader has closed the pipe.
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
    /// True if the other end of a pipe is closed.
    var isBrokenPipe: Bool { code == EPIPE }
}

/// A progress bar in the last line of a terminal.
///
/// It shows nothing if standard error is not a terminal.
final class ProgressBar {
    /// The minimum time between updates, in seconds.
    ///
    /// Faster updates would be unreadable.
    private static let interval = 0.1

    private let output: TextOutput
    private var shown = ""
    private var last: Instant?

    init(output: TextOutput) {
        self.output = output
    }

    /// Shows the progress.
    ///
    /// Frequent calls are cheap: most of them do nothing.
    ///
    /// - Parameters:
    ///   - task: The label, such as `Reading`.
    ///   - done: The number of completed items out of `total`.
    ///   - total: The number of items, which may grow between calls.
    func show(_ task: String, done: Int, total: Int) {
        guard let terminal = output.terminal, total > 0 else { return }
        if let last, last.elapsed < Self.interval { return }
        last = .now
        let line = Self.line(task, done: done, total: total, width: terminal.width)
        guard line != shown else { return }
        shown = line
        write("\r\u{1B}[K" + line)
    }

    /// Removes the bar, so that other text can be written.
    func clear() {
        guard !shown.isEmpty else { return }
        shown = ""
        last = nil
        write("\r\u{1B}[K")
    }

    /// Returns a line such as `Reading  [######        ] 412 of 1000`.
    ///
    /// The line leaves the last column free, because some terminals wrap there.
    static func line(_ task: String, done: Int, total: Int, width: Int) -> String {
        let count = "\(min(done, total)) of \(total)"
        let room = min(40, width - 1 - task.count - count.count - 4)
        guard room >= 8 else { return TextWidth.shortened("\(task) \(count)", to: max(1, width - 1)) }
        let filled = room * min(done, total) / total
        return task + " [" + String(repeating: "#", count: filled)
            + String(repeating: " ", count: room - filled) + "] " + count
    }

    private func write(_ text: String) {
        try? output.write(text)
        try? output.flush()
    }
}

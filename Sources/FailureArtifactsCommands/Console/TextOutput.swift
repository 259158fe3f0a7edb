internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// An output that cannot be written to; nothing that concerns a bundle.
struct OutputError: Error, CustomStringConvertible {
    let error: SystemError

    var description: String { error.description }

    /// Whether the reader, such as `head`, has all it wants.
    var isBrokenPipe: Bool { error.isBrokenPipe }
}

/// Where text goes: a descriptor of the process, or a test's memory.
package final class TextOutput {
    /// Where the bytes end up.
    typealias Sink = (UnsafeRawBufferPointer) throws(SystemError) -> Void

    /// Nil where the output is no terminal.
    let terminal: Terminal?
    private let sink: Sink
    private var buffer: [UInt8] = []
    private static let bufferSize = 64 << 10

    init(terminal: Terminal?, sink: @escaping Sink) {
        self.terminal = terminal
        self.sink = sink
    }

    /// An output of this process.
    convenience init(descriptor: CInt, name: String, environment: [String: String]) {
        self.init(terminal: Terminal(descriptor: descriptor, environment: environment)) {
            (bytes) throws(SystemError) in try writeAll(bytes, to: descriptor, name: name)
        }
    }

    /// Writes text; it may be held back until ``flush()``.
    func write(_ text: String) throws(OutputError) {
        buffer.append(contentsOf: text.utf8)
        if buffer.count >= Self.bufferSize { try flush() }
    }

    /// Writes text and a line end.
    func writeLine(_ text: String = "") throws(OutputError) {
        try write(text)
        try write("\n")
    }

    /// Writes what is held back; after a failure that is dropped.
    func flush() throws(OutputError) {
        guard !buffer.isEmpty else { return }
        defer { buffer.removeAll(keepingCapacity: true) }
        do {
            try buffer.withBytes { (bytes) throws(SystemError) in try sink(bytes) }
        } catch {
            throw OutputError(error: error)
        }
    }

    /// `text` in a style, where there is a terminal that has colours.
    func styled(_ text: String, _ style: Style) -> String {
        guard terminal?.hasColour == true, !text.isEmpty else { return text }
        return "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
    }

    /// The few styles that are used, by their SGR numbers.
    enum Style: String {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case heading = "1;36"
    }
}

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

/// How far a command is, in the last line of a terminal; nothing where standard error is no terminal.
final class ProgressBar {
    /// Seconds between two looks of it: more often nobody can read.
    private static let interval = 0.1

    private let output: TextOutput
    private var shown = ""
    private var last: Instant?

    init(output: TextOutput) {
        self.output = output
    }

    /// Shows how much is done; called as often as one likes.
    ///
    /// - Parameters:
    ///   - task: What is done, such as `Reading`.
    ///   - done: Out of `total`.
    ///   - total: May grow meanwhile.
    func show(_ task: String, done: Int, total: Int) {
        guard let terminal = output.terminal, total > 0 else { return }
        if let last, last.elapsed < Self.interval { return }
        last = .now
        let line = Self.line(task, done: done, total: total, width: terminal.width)
        guard line != shown else { return }
        shown = line
        write("\r\u{1B}[K" + line)
    }

    /// Takes the bar away, so that something else can be written.
    func clear() {
        guard !shown.isEmpty else { return }
        shown = ""
        last = nil
        write("\r\u{1B}[K")
    }

    /// `Reading  [######        ] 412 of 1000`; not in the last column, where some terminals break the line.
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

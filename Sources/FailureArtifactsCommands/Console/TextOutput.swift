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

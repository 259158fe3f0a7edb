internal import FailureArtifactsSystem

/// The end of what a command has written.
///
/// May be used from any thread.
package final class LogTail: Sendable {
    /// One line's bytes without its line end, of a longer one the first ``lineLimit``.
    typealias LineHook = @Sendable ([UInt8]) -> Void

    /// Bytes of a line that its hook is given.
    static let lineLimit = 16 << 10

    private struct State {
        /// Twice the limit, so that a byte is moved once at most on the average.
        var bytes: [UInt8]
        var count = 0
        /// Whether something before the bytes is gone.
        var isCut = false
        /// The start of a line that has not ended yet.
        var line: [UInt8] = []
    }

    private let limit: Int
    private let onLine: LineHook?
    private let state: Lock<State>

    /// - Parameters:
    ///   - limit: How many bytes are kept at least, where there are so many.
    ///   - onLine: Called for each line, in their order, on the thread that appends.
    init(limit: Int = 64 << 10, onLine: LineHook? = nil) {
        self.limit = limit
        self.onLine = onLine
        state = Lock(State(bytes: Array(repeating: 0, count: 2 * limit)))
    }

    /// Adds what was written.
    func append(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
        state.withLock { state in
            let kept = min(bytes.count, limit)
            let skipped = bytes.count - kept
            if state.count + kept > state.bytes.count || skipped > 0 {
                let rest = skipped > 0 ? 0 : limit - kept
                let from = state.count - rest
                state.isCut = true
                state.bytes.withUnsafeMutableBytes { buffer in
                    guard let start = buffer.baseAddress, rest > 0 else { return }
                    memmove(start, start + from, rest)
                }
                state.count = rest
            }
            let end = state.count
            state.bytes.withUnsafeMutableBytes { buffer in
                guard let start = buffer.baseAddress else { return }
                memcpy(start + end, base + skipped, kept)
            }
            state.count += kept
        }
        if let onLine { splitLines(base, bytes.count, onLine) }
    }

    /// Says that nothing more comes: a last line without an end is one too.
    func finish() {
        guard let onLine else { return }
        let line = state.withLock { state in
            defer { state.line = [] }
            return state.line
        }
        if !line.isEmpty { onLine(line) }
    }

    /// The last bytes.
    package var bytes: [UInt8] {
        state.withLock { state in Array(state.bytes[max(0, state.count - limit)..<state.count]) }
    }

    /// The last lines, the oldest first, without one whose start is gone.
    package var lines: [String] {
        let (bytes, isCut) = state.withLock { state in
            let start = max(0, state.count - limit)
            return (Array(state.bytes[start..<state.count]), state.isCut || start > 0)
        }
        var lines = String(decoding: bytes, as: UTF8.self)
            .split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return isCut ? Array(lines.dropFirst()) : lines
    }

    private func splitLines(_ base: UnsafeRawPointer, _ count: Int, _ onLine: LineHook) {
        var start = 0
        while start < count {
            let found = memchr(base + start, CInt(UInt8(ascii: "\n")), count - start)
            let end = found.map { UnsafeRawPointer($0) - base } ?? count
            let piece = UnsafeRawBufferPointer(start: base + start, count: end - start)
            let line = state.withLock { state in
                let room = Self.lineLimit - state.line.count
                state.line.append(contentsOf: UnsafeRawBufferPointer(rebasing: piece.prefix(room)))
                guard found != nil else { return [UInt8]?.none }
                defer { state.line = [] }
                return state.line
            }
            if let line { onLine(line) }
            start = end + 1
        }
    }
}

/// What Swift's runtime prints on standard error before it ends a process.
///
/// `Shop/Cart.swift:42: Fatal error: Index out of range`, the place only where it is known; see `reportFatalError`
/// in [the runtime](https://github.com/swiftlang/swift/blob/main/stdlib/public/stubs/Assert.cpp).
package struct FatalMessage: Equatable, Sendable {
    /// `Fatal error: Index out of range`.
    package let message: String
    /// As it is printed: `Module/File.swift` or a path.
    package let file: String?
    package let line: Int?

    private static let kinds = ["Fatal error", "Precondition failed", "Assertion failed"]

    /// Reads a line; nil for one that is no such message.
    package init?(line text: String) {
        var text = text[...]
        if text.last == "\r" { text.removeLast() }
        if Self.isMessage(text) {
            (message, file, line) = (String(text), nil, nil)
            return
        }
        // The place may hold colons itself; that of the message is the first after a number.
        for kind in Self.kinds {
            guard let start = text.firstRange(of: ": " + kind)?.lowerBound else { continue }
            let message = text[text.index(start, offsetBy: 2)...]
            let place = text[..<start]
            guard Self.isMessage(message), let colon = place.lastIndex(of: ":"),
                colon > place.startIndex,
                let line = Int(place[place.index(after: colon)...])
            else { continue }
            self.message = String(message)
            self.file = String(place[..<colon])
            self.line = line
            return
        }
        return nil
    }

    /// All such messages of a log, in its order.
    package static func all(in lines: [String]) -> [FatalMessage] { lines.compactMap(FatalMessage.init) }

    private static func isMessage(_ text: Substring) -> Bool {
        kinds.contains { kind in
            text.hasPrefix(kind)
                && (text.count == kind.count || text.dropFirst(kind.count).hasPrefix(": "))
        }
    }
}

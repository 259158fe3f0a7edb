internal import FailureArtifactsSystem

/// The end of a command's output. May be used from any thread.
package final class LogTail: Sendable {
    /// A hook that receives one line without its line end, cut after ``lineLimit`` bytes.
    typealias LineHook = @Sendable ([UInt8]) -> Void

    /// The maximum size of a line that its hook receives, in bytes.
    static let lineLimit = 16 << 10

    private struct State {
        /// A buffer of twice the limit, so that on average a byte is moved at most once.
        var bytes: [UInt8]
        var count = 0
        /// True if bytes before those in the buffer were dropped.
        var isCut = false
        /// The start of a line that has not ended yet.
        var line: [UInt8] = []
    }

    private let limit: Int
    private let onLine: LineHook?
    private let state: Lock<State>

    /// - `limit`: the minimum number of last bytes to keep.
    init(limit: Int = 64 << 10, onLine: LineHook? = nil) {
        self.limit = limit
        self.onLine = onLine
        state = Lock(State(bytes: Array(repeating: 0, count: 2 * limit)))
    }

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

    /// Marks the end of the output; passes a last line without a line end to the hook.
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

    /// The last lines, oldest first, without a line whose start was dropped.
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

/// A message that Swift's runtime prints on standard error before it ends a process. An example is
/// `Shop/Cart.swift:42: Fatal error: Index out of range`; the place is missing if it is unknown. See
/// `reportFatalError` in [the runtime](https://github.com/swiftlang/swift/blob/main/stdlib/public/stubs/Assert.cpp).
package struct FatalMessage: Equatable, Sendable {
    /// The text, such as `Fatal error: Index out of range`.
    package let message: String
    /// The file as printed, such as `Module/File.swift` or a path.
    package let file: String?
    package let line: Int?

    private static let kinds = ["Fatal error", "Precondition failed", "Assertion failed"]

    /// Parses a line; nil if it has another form.
    package init?(line text: String) {
        var text = text[...]
        if text.last == "\r" { text.removeLast() }
        if Self.isMessage(text) {
            (message, file, line) = (String(text), nil, nil)
            return
        }
        // The place may contain colons. The message's colon is the first one after a number.
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

    /// Finds all such messages in the lines of a log, in order.
    package static func all(in lines: [String]) -> [FatalMessage] { lines.compactMap(FatalMessage.init) }

    private static func isMessage(_ text: Substring) -> Bool {
        kinds.contains { kind in
            text.hasPrefix(kind)
                && (text.count == kind.count || text.dropFirst(kind.count).hasPrefix(": "))
        }
    }
}

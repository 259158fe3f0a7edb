internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// The end of a command's output; may be used from any thread.
package final class LogTail: Sendable {
    /// A hook that receives one line without its line end, cut after ``lineLimit`` bytes.
    typealias LineHook = @Sendable ([UInt8]) -> Void

    /// The maximum size of a line that its hook receives, in bytes.
    static let lineLimit = 16 << 10

    private struct State {
        /// The last bytes, at most twice the limit, so that on average a byte is moved at most once.
        var bytes: [UInt8] = []
        /// True if earlier bytes were dropped.
        var isCut = false
        /// The start of a line that has not ended yet.
        var line: [UInt8] = []
    }

    private let limit: Int
    private let onLine: LineHook?
    private let state = Lock(State())

    init(limit: Int = 64 << 10, onLine: LineHook? = nil) {
        self.limit = limit
        self.onLine = onLine
    }

    /// Appends output.
    func append(_ bytes: UnsafeRawBufferPointer) {
        let lines = state.withLock { state in
            state.bytes.append(contentsOf: bytes)
            if state.bytes.count > 2 * limit {
                state.bytes.removeFirst(state.bytes.count - limit)
                state.isCut = true
            }
            return onLine == nil ? [] : Self.lines(endedBy: bytes, &state.line)
        }
        for line in lines { onLine?(line) }
    }

    /// Marks the end of the output; passes a last line without a line end to the hook.
    func finish() {
        let line = state.withLock { state in
            defer { state.line = [] }
            return state.line
        }
        if !line.isEmpty { onLine?(line) }
    }

    /// The last bytes.
    package var bytes: [UInt8] { state.withLock { $0.bytes.suffix(limit) } }

    /// The last lines, oldest first, without a line whose start was dropped.
    package var lines: [String] {
        let (bytes, isCut) = state.withLock { state in
            (state.bytes.suffix(limit), state.isCut || state.bytes.count > limit)
        }
        var lines = String(decoding: bytes, as: UTF8.self)
            .split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return isCut ? Array(lines.dropFirst()) : lines
    }

    /// Returns the lines that end in some bytes, and keeps the start of the next one.
    private static func lines(
        endedBy bytes: UnsafeRawBufferPointer, _ line: inout [UInt8]
    ) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for (index, part) in bytes.split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
        ).enumerated() {
            if index > 0 {
                lines.append(line)
                line = []
            }
            line.append(contentsOf: part.prefix(lineLimit - line.count))
        }
        return lines
    }
}

/// A message that Swift's runtime prints on standard error before it ends a process.
///
/// An example is `Shop/Cart.swift:42: Fatal error: Index out of range`; the place is missing if it is unknown. See
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

/// The backtrace that Swift's runtime prints of the thread that crashed.
package struct CrashBacktrace: Equatable, Sendable {
    /// The lines with frames, innermost first.
    package let frames: [String]
    /// The fatal error that was printed before it; nil if none was, or several between this backtrace and the one
    /// before it.
    package let fatal: FatalMessage?

    init(frames: [String], fatal: FatalMessage? = nil) {
        self.frames = frames
        self.fatal = fatal
    }

    /// Finds the backtraces in the lines of a log, in order.
    package static func all(in lines: [String]) -> [CrashBacktrace] {
        var backtraces: [CrashBacktrace] = []
        var rest = lines[...]
        while let start = rest.firstIndex(where: {
            $0.hasPrefix("Thread ") && $0.hasSuffix(" crashed:")
        }) {
            let messages = FatalMessage.all(in: Array(rest[..<start]))
            rest = rest[(start + 1)...]
            let frames = rest.prefix { line in
                !["Thread ", "Registers:", "Images"].contains { line.hasPrefix($0) }
            }.filter { !$0.isEmpty }
            backtraces.append(
                CrashBacktrace(frames: frames, fatal: messages.count == 1 ? messages[0] : nil))
        }
        return backtraces
    }

    /// Returns the place of the innermost frame in a package's own sources; nil if the frame or its line is unknown.
    package func place(below root: String) -> (file: String, line: Int)? {
        let mark = " at " + root + "/"
        for frame in frames {
            guard let start = frame.firstRange(of: mark) else { continue }
            let parts = frame[start.upperBound...].split(
                separator: ":", omittingEmptySubsequences: false)
            // Dependencies and generated sources are in a hidden directory.
            guard let path = parts.first, !path.hasPrefix("."), path.hasSuffix(".swift") else {
                continue
            }
            guard parts.count >= 2, let line = Int(parts[1]), line > 0 else { return nil }
            return (root + "/" + path, line)
        }
        return nil
    }
}

struct CrashLog: Sendable {
    /// The end of standard error and of standard output.
    let lines: [String]
    /// The backtraces, in the order of the lines.
    let backtraces: [CrashBacktrace]
    /// The unfinished tests of the processes that died.
    private let tests: [ProcessIdentity: [BundleMetadata.Test]]

    /// Parses the logs, which are the same if both streams go to the same place.
    init(
        standardError: [String], standardOutput: [String],
        tests: [ProcessIdentity: [BundleMetadata.Test]]
    ) {
        lines = standardError + standardOutput
        backtraces =
            CrashBacktrace.all(in: standardError) + CrashBacktrace.all(in: standardOutput)
        self.tests = tests
    }

    /// Returns the backtrace with a test that only this process was running; nil without one, or if there are several.
    func backtrace(of process: ProcessIdentity) -> CrashBacktrace? {
        func isNamed(_ process: ProcessIdentity, _ backtrace: CrashBacktrace) -> Bool {
            tests[process, default: []].contains { $0.isNamed(in: backtrace.frames) }
        }
        let found = backtraces.filter { backtrace in
            isNamed(process, backtrace)
                && !tests.keys.contains { $0 != process && isNamed($0, backtrace) }
        }
        guard let first = found.first, found.allSatisfy({ $0 == first }) else { return nil }
        return first
    }
}

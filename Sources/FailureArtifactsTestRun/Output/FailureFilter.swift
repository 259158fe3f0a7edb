internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// Reduces a test command's output to its failing tests; may be used from any thread.
///
/// XCTest runs one test after the other: the lines of a failing one are kept for the end of the run, and those of others
/// dropped. Of Swift Testing, the issues of failing tests are kept. What its tests print may come at any time, so all other
/// lines since the tests began are kept only if the command fails. Before, such as in a build, they are passed on at once.
package final class FailureFilter: Sendable {
    package struct Failure: Equatable, Sendable {
        /// The name in the output, such as `LedgerTests.testMarch` or `march()`.
        package let name: String
        package let text: String
    }

    fileprivate struct State {
        /// The starts of lines that have not ended yet, by the output.
        var starts: [[UInt8]] = [[], []]
        /// The running test of XCTest.
        var running: String?
        /// The lines of tests that have not ended.
        var held: [String: [[UInt8]]] = [:]
        /// The test of Swift Testing whose issue the next lines continue.
        var issue: String?
        var hasTests = false
        /// The lines since the tests began that are of no known test.
        var others: [[UInt8]] = []
        var failures: [Failure] = []
        let passesTotals: Bool
    }

    /// The maximum number of lines of a test, and of lines that are of no test; the last ones are kept.
    fileprivate static let heldLimit = 20_000
    /// The maximum number of lines that are of no test, if it is known which tests failed.
    private static let otherLimit = 30
    /// The maximum size of a line, in bytes; longer ones are divided.
    private static let lineLimit = 1 << 20

    private let state: Lock<State>

    /// Creates a filter for one run.
    ///
    /// - `passesTotals`: true to pass on Swift Testing's line of totals, because its results aren't known otherwise.
    package init(passesTotals: Bool) { state = Lock(State(passesTotals: passesTotals)) }

    /// Returns the part of an output that is passed on at once.
    ///
    /// - `output`: 0 for standard output, 1 for standard error.
    func passed(_ bytes: UnsafeRawBufferPointer, of output: Int) -> [UInt8] {
        state.withLock { state in
            var passed: [UInt8] = []
            let parts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            for (index, part) in parts.enumerated() {
                if index > 0 { state.starts[output].append(UInt8(ascii: "\n")) }
                if index > 0 || state.starts[output].count > Self.lineLimit {
                    passed += state.takeLine(of: output)
                }
                state.starts[output] += part
            }
            return passed
        }
    }

    /// Returns the last line of an output if it has no line end and is passed on.
    func end(of output: Int) -> [UInt8] {
        state.withLock { state in state.starts[output].isEmpty ? [] : state.takeLine(of: output) }
    }

    /// Returns the failing tests, in the order of their ends, and the other lines of a command that has failed.
    package func finish(hasFailed: Bool) -> (failures: [Failure], others: String) {
        state.withLock { state in
            state.endUnfinishedTests()
            let limit = state.failures.isEmpty ? Self.heldLimit : Self.otherLimit
            let others = hasFailed ? state.others.suffix(limit) : []
            return (state.failures, State.text(others))
        }
    }
}

extension FailureFilter.State {
    /// Reads the line that an output has begun, and returns it if it is passed on.
    fileprivate mutating func takeLine(of output: Int) -> [UInt8] {
        let bytes = starts[output]
        starts[output] = []
        var text = Self.text([bytes])
        // Colors, which some runners print into pipes.
        if bytes.contains(0x1B) { text.replace(/\e\[[0-9;]*m/, with: "") }
        let event = TestEvent(line: text)
        // A comment or a value can have several lines.
        if event != .details, event != nil { issue = nil }
        switch event {
        case .started(let name):
            (running, hasTests) = (name, true)
        case .ended(let name, let isFailure):
            hasTests = true
            if isFailure { keep(name, and: [bytes]) }
            // Tests of several suites can have the same name, and an issue is of the one that fails.
            if isFailure || running == name { held[name] = nil }
            if running == name { running = nil }
        case .issue(let name):
            hold(bytes, for: name)
            issue = name
        case .processStarted:
            endUnfinishedTests()
            hasTests = true
        case .totals where passesTotals: return bytes
        case .buildStarted: hasTests = false
        case .progress, .totals: break
        case .details, nil:
            if let test = issue ?? running {
                hold(bytes, for: test)
            } else if event == nil {
                guard hasTests else { return bytes }
                Self.add(bytes, to: &others)
            }
        }
        return []
    }

    private mutating func hold(_ line: [UInt8], for test: String) {
        Self.add(line, to: &held[test, default: []])
    }

    private static func add(_ line: [UInt8], to lines: inout [[UInt8]]) {
        lines.append(line)
        if lines.count > FailureFilter.heldLimit { lines.removeFirst(FailureFilter.heldLimit / 2) }
    }

    /// Keeps the lines of tests whose process has ended before them.
    fileprivate mutating func endUnfinishedTests() {
        for name in held.keys.sorted() { keep(name) }
        (held, running, issue) = ([:], nil, nil)
    }

    private mutating func keep(_ name: String, and lines: [[UInt8]] = []) {
        failures.append(
            FailureFilter.Failure(name: name, text: Self.text(held[name, default: []] + lines)))
    }

    /// Joins lines, and removes the last line end.
    fileprivate static func text(_ lines: some Collection<[UInt8]>) -> String {
        let text = String(decoding: Array(lines.joined()), as: UTF8.self)
        return text.last?.isNewline == true ? String(text.dropLast()) : text
    }
}

/// The meaning of a line that XCTest, Swift Testing or SwiftPM prints.
///
/// The symbols are those of Swift Testing's
/// [console output](https://github.com/swiftlang/swift-testing/blob/main/Sources/Testing/Events/Recorder/Event.Symbol.swift).
enum TestEvent: Equatable {
    /// The start of a test of XCTest.
    case started(String)
    case ended(String, isFailure: Bool)
    /// The start of an issue that is a failure.
    case issue(String)
    /// More about the line before.
    case details
    case buildStarted
    case processStarted
    /// The result of all tests of Swift Testing in a process.
    case totals
    /// A line that says nothing about failures.
    case progress

    private static let symbols: Set<Unicode.Scalar> = ["◇", "✔", "✘", "➜", "⚠", "↳", "±", "⎙", "━"]
    private static let ends = [(" passed after ", false), (" skipped", false), (" failed after ", true)]
    private static let progressStarts = ["Test Suite '", "\t Executed ", "Build complete!"]

    /// Parses a line; nil for any other line.
    init?(line: some StringProtocol) {
        if let (name, event) = XCTestLog.caseEvent(in: Substring(line)) {
            if event.hasPrefix("started") {
                self = .started(String(name))
                return
            }
            guard let (outcome, _) = XCTestLog.end(event) else { return nil }
            self = .ended(String(name), isFailure: outcome == .failed)
        } else if let symbol = line.unicodeScalars.first, Self.symbols.contains(symbol),
            let space = line.firstIndex(of: " ")
        {
            self.init(symbol, line[line.index(after: space)...])
        } else if line.hasPrefix("Building for ") {
            self = .buildStarted
        } else if Self.progressStarts.contains(where: { line.hasPrefix($0) }) {
            let isStart = line.contains("' started at ")
            let isOfProcess = ["All", "Selected"].contains { line.hasPrefix("Test Suite '\($0) tests'") }
            self = isStart && isOfProcess ? .processStarted : .progress
        } else if Self.isStep(line) || line.contains(" failed. To find out why: ") {
            self = .progress
        } else {
            return nil
        }
    }

    /// Parses the text after one of Swift Testing's symbols.
    private init?(_ symbol: Unicode.Scalar, _ text: some StringProtocol) {
        if symbol == "↳" || symbol == "±" {
            self = .details
        } else if text == "Test run started." {
            self = .processStarted
        } else if text.hasPrefix("Test run ") {
            self = .totals
        } else if text.hasSuffix(" started.")
            || text.hasPrefix("Suite ") && !text.contains(" recorded an issue")
        {
            self = .progress
        } else {
            let rest = text.drop { $0 != " " }.dropFirst()
            // A display name is in quotes, and may contain any words.
            let quoted = rest.hasPrefix("\"") ? rest.dropFirst().firstRange(of: "\" ")?.lowerBound : nil
            let nameEnd = quoted.map { rest.index(after: $0) } ?? rest.firstIndex(of: " ")
            guard let nameEnd else { return nil }
            let (name, event) = (String(rest[..<nameEnd]), rest[nameEnd...])
            if event.contains(" recorded an issue") {
                self = .issue(name)
            } else if event.contains(" recorded a ") {
                self = .progress
            } else if let end = Self.ends.first(where: { event.contains($0.0) }) {
                self = .ended(name, isFailure: end.1)
            } else {
                return nil
            }
        }
    }

    /// True for SwiftPM's `[3/42] Compiling Ledger Ledger.swift` and `[3/6] Testing Module.Class/method`.
    private static func isStep(_ line: some StringProtocol) -> Bool {
        guard line.hasPrefix("["), let end = line.firstRange(of: "] ")?.lowerBound else { return false }
        let numbers = line[..<end].dropFirst().split(separator: "/")
        return numbers.count == 2 && numbers.allSatisfy { Int($0) != nil }
    }
}

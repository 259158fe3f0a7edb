internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// Reads XCTest's output, line by line.
///
/// The lines come from swift-corelibs-xctest's `PrintObserver` and from Apple's XCTest. They name tests `Class.method`
/// and `-[Module.Class method]`. For tests that ran in parallel the lines come from SwiftPM, which prints only the
/// output of those that fail.
struct XCTestLog: Sendable {
    private static let marker = "Test Case '"
    private static let errorMark = ": error: "
    private static let skipMark = " : Test skipped"
    /// The texts of which a line must contain at least one to be read.
    private static let marks: [String] = [marker, errorMark, skipMark, "] Testing "]
    /// The maximum number of bytes (UTF-8) that one line adds to a message.
    private static let lineLimit = 4 << 10

    private(set) var attempts: [TestAttempt] = []
    /// The attempts that have started and not ended, by the names in the log.
    private var running: [String: Int] = [:]
    /// The failure whose message the next line continues, unless that line is one of XCTest's own.
    private var message: (attempt: Int, failure: Int)?
    /// The tests that SwiftPM reported as done; the log has more about those that failed.
    private(set) var passed: [TestAttempt] = []

    /// Reads a line's bytes, without the line end; most lines of a log don't come from XCTest; those are not converted
    /// to text.
    mutating func read(bytes: [UInt8]) {
        let isOfInterest =
            message != nil
            || bytes.withUnsafeBytes { line in Self.marks.contains { line.holds($0) } }
        if isOfInterest { read(String(decoding: bytes, as: UTF8.self)) }
    }

    /// Reads a line, without its line end.
    mutating func read(_ line: some StringProtocol) {
        var line = Substring(line)
        if line.last == "\r" { line.removeLast() }
        if readCase(line) || readFailure(line) || readNamed(line) || Self.isFrame(line) { return }
        continueMessage(line)
    }

    // MARK: - Lines

    /// Reads `Test Case 'Class.method' passed (0.01 seconds)`; the test's own output may precede it on the line.
    private mutating func readCase(_ line: Substring) -> Bool {
        guard let (name, event) = Self.caseEvent(in: line), let test = Self.identity(name) else {
            return false
        }
        if event.hasPrefix("started") {
            running[String(name)] = attempts.count
            attempts.append(TestAttempt(test: test))
        } else if let (outcome, seconds) = Self.end(event) {
            // A log may begin in the middle of a test.
            let index = running.removeValue(forKey: String(name)) ?? attempts.count
            if index == attempts.count { attempts.append(TestAttempt(test: test)) }
            attempts[index].outcome = outcome
            attempts[index].seconds = seconds
        } else {
            return false
        }
        message = nil
        return true
    }

    /// Splits `Test Case 'Class.method' passed (0.01 seconds)` into the name and the event.
    static func caseEvent(in line: Substring) -> (name: Substring, event: Substring)? {
        guard let start = line.firstRange(of: marker)?.upperBound else { return nil }
        let rest = line[start...]
        guard let end = rest.firstRange(of: "' ") else { return nil }
        return (rest[..<end.lowerBound], rest[end.upperBound...])
    }

    /// Parses an end such as `passed (0.01 seconds)`.
    static func end(_ text: Substring) -> (TestAttempt.Outcome, Double?)? {
        let outcomes: [(String, TestAttempt.Outcome)] = [
            ("passed (", .passed), ("failed (", .failed), ("skipped (", .skipped),
        ]
        guard let (start, outcome) = outcomes.first(where: { text.hasPrefix($0.0) }) else { return nil }
        let rest = text.dropFirst(start.count)
        guard let end = rest.firstRange(of: " seconds)") else { return nil }
        return (outcome, Double(rest[..<end.lowerBound]).flatMap { $0.isFinite && $0 >= 0 ? $0 : nil })
    }

    /// Reads `File.swift:42: error: Class.method : message` or `File.swift:42: Class.method : Test skipped - reason`.
    private mutating func readFailure(_ line: Substring) -> Bool {
        for (name, index) in running {
            if let found = line.firstRange(of: "\(Self.errorMark)\(name) : ") {
                let (file, number) = Self.place(line[..<found.lowerBound])
                let text = Self.cut(line[found.upperBound...])
                attempts[index].add(TestAttempt.Failure(message: text, file: file, line: number))
                let count = attempts[index].failures.count
                message = count < TestAttempt.failureLimit ? (index, count - 1) : nil
                return true
            }
            if let found = line.firstRange(of: ": \(name)\(Self.skipMark)") {
                let reason = line[found.upperBound...]
                attempts[index].reason =
                    reason.hasPrefix(" - ") ? Self.cut(reason.dropFirst(3)) : nil
                message = nil
                return true
            }
        }
        return false
    }

    /// Reads SwiftPM's `[3/6] Testing Module.Class/method`.
    private mutating func readNamed(_ line: Substring) -> Bool {
        guard line.hasPrefix("["), let end = line.firstRange(of: "] Testing ") else { return false }
        let numbers = line[line.index(after: line.startIndex)..<end.lowerBound]
        guard numbers.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2F }) else { return false }
        if let test = Self.specified(line[end.upperBound...]) {
            passed.append(TestAttempt(test: test, outcome: .passed))
        }
        message = nil
        return true
    }

    /// True for other lines that XCTest, SwiftPM and this tool print.
    private static func isFrame(_ line: Substring) -> Bool {
        line.hasPrefix("Test Suite '") || line.hasPrefix("\t Executed ") || line.hasPrefix("\u{25C7} ")
            || line.hasPrefix("failure-artifacts: ") || line.hasPrefix("error: ")
    }

    /// Adds a line to the current message: the end of a message of several lines isn't marked.
    private mutating func continueMessage(_ line: Substring) {
        guard let (attempt, failure) = message else { return }
        let size = attempts[attempt].failures[failure].message.utf8.count
        guard size < TestAttempt.messageLimit else {
            message = nil
            return
        }
        attempts[attempt].failures[failure].message += "\n" + Self.cut(line)
    }

    // MARK: - Names and places

    /// Parses `Class.method` or `-[Module.Class method]`.
    private static func identity(_ name: Substring) -> TestIdentity? {
        if name.hasPrefix("-["), name.hasSuffix("]") {
            let parts = name.dropFirst(2).dropLast().split(separator: " ", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            let type = parts[0].split(separator: ".", maxSplits: 1)
            return TestIdentity(
                framework: TestIdentity.xctest, module: type.count == 2 ? String(type[0]) : nil,
                suite: String(type.last ?? ""), name: String(parts[1]))
        }
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex,
            name.index(after: dot) < name.endIndex
        else { return nil }
        return TestIdentity(
            framework: TestIdentity.xctest, module: nil, suite: String(name[..<dot]),
            name: String(name[name.index(after: dot)...]))
    }

    /// Parses SwiftPM's `Module.Class/method`.
    private static func specified(_ text: Substring) -> TestIdentity? {
        guard let slash = text.firstIndex(of: "/"), let dot = text[..<slash].firstIndex(of: ".") else {
            return nil
        }
        return TestIdentity(
            framework: TestIdentity.xctest, module: String(text[..<dot]),
            suite: String(text[text.index(after: dot)..<slash]),
            name: String(text[text.index(after: slash)...]))
    }

    /// Parses `File.swift:42`; an error that was thrown out of a test has `<EXPR>:0`, which is no place.
    private static func place(_ text: Substring) -> (file: String?, line: Int?) {
        guard let colon = text.lastIndex(of: ":"), let line = Int(text[text.index(after: colon)...]),
            line > 0
        else { return (nil, nil) }
        return (String(text[..<colon]), line)
    }

    private static func cut(_ text: Substring) -> String {
        text.utf8.count > lineLimit
            ? String(text.unicodeScalars.prefix(lineLimit / 4)) + "…" : String(text)
    }
}

/// The places of the failures that a test command prints.
package enum FailurePlaces {
    /// The maximum number of bytes that are read of an output.
    private static let limit = 8 << 20

    package static func places(inOutput path: String) throws -> Set<String> {
        let bytes = try FileSystem.contents(ofFile: path).suffix(limit)
        return Set(bytes.split(separator: UInt8(ascii: "\n")).compactMap(place))
    }

    private static func place(in line: ArraySlice<UInt8>) -> String? {
        let line = String(decoding: line.prefix(4096), as: UTF8.self)
        // `/…/LedgerTests.swift:82: error: LedgerTests.testMarch : …` and `Ledger/Ledger.swift:42: Fatal error: …`
        for mark in [": error: ", ": Fatal error"] {
            if let range = line.firstRange(of: mark) { return place(atEndOf: line[..<range.lowerBound]) }
        }
        // `✘ Test march() recorded an issue at LedgerTests.swift:82:9: …`
        if let range = line.firstRange(of: " recorded an issue at ") {
            let rest = line[range.upperBound...]
            let parts = rest.prefix { $0 != " " }.split(separator: ":")
            return parts.count >= 2 ? place(atEndOf: "\(parts[0]):\(parts[1])") : nil
        }
        return nil
    }

    /// Returns the file's name and line, if the text ends with `FILE:LINE`.
    private static func place(atEndOf text: some StringProtocol) -> String? {
        guard let colon = text.lastIndex(of: ":"), Int(text[text.index(after: colon)...]) != nil,
            let file = text[..<colon].split(separator: "/").last, file.hasSuffix(".swift")
        else { return nil }
        return "\(file)\(text[colon...])"
    }
}

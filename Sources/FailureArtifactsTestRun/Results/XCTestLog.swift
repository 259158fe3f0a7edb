package import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// Reads what XCTest prints, line by line.
///
/// The lines are those of swift-corelibs-xctest's `PrintObserver` and of Apple's XCTest, which name tests
/// `Class.method` and `-[Module.Class method]`; and SwiftPM's of tests that ran in parallel, of which it prints
/// only those that fail.
package struct XCTestLog: Sendable {
    private static let marker = "Test Case '"
    private static let errorMark = ": error: "
    private static let skipMark = " : Test skipped"
    /// A line without any of these is of no interest.
    private static let marks: [String] = [marker, errorMark, skipMark, "] Testing "]
    /// Bytes of UTF-8 that one line adds to a message.
    private static let lineLimit = 4 << 10

    /// In the order they were started.
    package private(set) var attempts: [TestAttempt] = []
    /// Tests that have been started and have not ended, by the names that the log has.
    private var running: [String: Int] = [:]
    /// Where the next line goes, unless it is one of XCTest's own.
    private var message: (attempt: Int, failure: Int)?
    /// What SwiftPM has named as done; of those that failed more is told.
    package private(set) var passed: [TestAttempt] = []

    init() {}

    /// Reads all lines of a file.
    ///
    /// - Throws: That there is no such file, or that it cannot be read.
    package init(ofFile path: String) throws {
        try ResultFile.forEachLine(of: path) { line in
            read(bytes: Array(line.prefix(LogTail.lineLimit)))
        }
    }

    /// Reads a line's bytes, without its end.
    ///
    /// Most lines of a log are none of XCTest's: of those no text is made.
    mutating func read(bytes: [UInt8]) {
        let isOfInterest =
            message != nil
            || bytes.withUnsafeBytes { line in Self.marks.contains { line.holds($0) } }
        if isOfInterest { read(String(decoding: bytes, as: UTF8.self)) }
    }

    /// Reads a line, without its end.
    mutating func read(_ line: some StringProtocol) {
        var line = Substring(line)
        if line.last == "\r" { line.removeLast() }
        if readCase(line) || readFailure(line) || readNamed(line) || Self.isFrame(line) { return }
        continueMessage(line)
    }

    // MARK: - Lines

    /// `Test Case 'Class.method' passed (0.01 seconds)`; a test may have printed something before it on the line.
    private mutating func readCase(_ line: Substring) -> Bool {
        guard let start = line.firstRange(of: Self.marker)?.upperBound else { return false }
        let rest = line[start...]
        guard let end = rest.firstRange(of: "' ") else { return false }
        let (name, event) = (rest[..<end.lowerBound], rest[end.upperBound...])
        guard let test = Self.identity(name) else { return false }
        if event.hasPrefix("started") {
            running[String(name)] = attempts.count
            attempts.append(TestAttempt(test: test))
        } else if let (outcome, seconds) = Self.end(event) {
            // A log may begin in the middle.
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

    /// `passed (0.01 seconds)`.
    private static func end(_ text: Substring) -> (TestAttempt.Outcome, Double?)? {
        let outcomes: [(String, TestAttempt.Outcome)] = [
            ("passed (", .passed), ("failed (", .failed), ("skipped (", .skipped),
        ]
        guard let (start, outcome) = outcomes.first(where: { text.hasPrefix($0.0) }) else { return nil }
        let rest = text.dropFirst(start.count)
        guard let end = rest.firstRange(of: " seconds)") else { return nil }
        return (outcome, Double(rest[..<end.lowerBound]).flatMap { $0.isFinite && $0 >= 0 ? $0 : nil })
    }

    /// `File.swift:42: error: Class.method : message`, or `File.swift:42: Class.method : Test skipped - reason`.
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

    /// `[3/6] Testing Module.Class/method`.
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

    /// What XCTest, SwiftPM and this tool print besides.
    private static func isFrame(_ line: Substring) -> Bool {
        line.hasPrefix("Test Suite '") || line.hasPrefix("\t Executed ") || line.hasPrefix("\u{25C7} ")
            || line.hasPrefix("failure-artifacts: ") || line.hasPrefix("error: ")
    }

    /// A message of several lines has nothing that tells its end: what follows is taken for a part of it.
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

    /// `Class.method` or `-[Module.Class method]`.
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

    /// SwiftPM's `Module.Class/method`.
    private static func specified(_ text: Substring) -> TestIdentity? {
        guard let slash = text.firstIndex(of: "/"), let dot = text[..<slash].firstIndex(of: ".") else {
            return nil
        }
        return TestIdentity(
            framework: TestIdentity.xctest, module: String(text[..<dot]),
            suite: String(text[text.index(after: dot)..<slash]),
            name: String(text[text.index(after: slash)...]))
    }

    /// `File.swift:42`; an error that was thrown out of a test has `<EXPR>:0`.
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

package import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Reads Swift Testing's event stream, which has one JSON object per line.
///
/// Its grammar is [documented](https://github.com/swiftlang/swift-testing/blob/main/Documentation/ABI/JSON.md).
/// Versions 0 and 6.3 to 6.5 are read; most additions of later versions are ignored. From 6.4 on, the cases of a test can be
/// repeated, and their events have the number of the iteration
/// ([ST-0024](https://github.com/swiftlang/swift-evolution/blob/main/proposals/testing/0024-per-test-case-repetitions.md)).
/// Each iteration of a test is an attempt.
package struct EventStream {
    package private(set) var attempts: [TestAttempt] = []
    private var tests: [String: TestIdentity] = [:]
    /// The attempts that have not ended, by the test and the iteration.
    private var running: [String: [Int: (index: Int, start: Double)]] = [:]

    /// Reads a line; ignores a line that is not an event, such as the torn last line of a dead process.
    mutating func read(_ line: some Collection<UInt8>) {
        guard !line.isEmpty,
            let record = try? JSONDecoder().decode(Record.self, from: Data(line)),
            let payload = record.payload
        else { return }
        if record.kind == "test" {
            if let id = payload.id { tests[id] = Self.identity(id, payload) }
        } else if record.kind == "event", let id = payload.testID {
            read(payload, of: id)
        }
    }

    init() {}

    package init(ofFile path: String) throws {
        // The file need not fit into memory.
        try File(reading: path).withMappedBytes { bytes in
            for line in bytes.split(separator: UInt8(ascii: "\n")) { read(line) }
        }
    }

    private mutating func read(_ event: Payload, of id: String) {
        let pointInTime = event.instant?.absolute ?? 0
        let iteration = event.iteration ?? 1
        switch event.kind {
        case "testStarted":
            guard tests[id]?.name.isEmpty == false else { return }
            begin(id, iteration, at: pointInTime)
        case "testCaseStarted":
            if iteration > 1, running[id]?[iteration] == nil { begin(id, iteration, at: pointInTime) }
        case "testCaseEnded":
            guard event.iteration != nil, let (index, start) = running[id]?[iteration] else { return }
            attempts[index].seconds = max(0, pointInTime - start)
        case "testEnded":
            for (index, start) in (running.removeValue(forKey: id) ?? [:]).values {
                if event.iteration == nil || attempts[index].seconds == nil {
                    attempts[index].seconds = max(0, pointInTime - start)
                }
                if attempts[index].outcome == .unfinished { attempts[index].outcome = .passed }
            }
        case "testSkipped":
            guard tests[id]?.name.isEmpty == false else { return }
            if running[id]?[iteration] == nil { begin(id, iteration, at: pointInTime) }
            guard let index = running[id]?.removeValue(forKey: iteration)?.index else { return }
            attempts[index].outcome = .skipped
            attempts[index].reason = Self.reason(event)
        case "issueRecorded":
            guard let issue = event.issue, issue.counts else { return }
            // A suite gets a result only if something went wrong around its tests.
            if running[id]?[iteration] == nil { begin(id, iteration, at: pointInTime) }
            guard let index = running[id]?[iteration]?.index else { return }
            attempts[index].outcome = .failed
            let place = event.sourceLocation ?? issue.sourceLocation
            attempts[index].add(
                TestAttempt.Failure(
                    message: Self.message(of: event), file: place?.path, line: place?.line))
        default: break
        }
    }

    private mutating func begin(_ id: String, _ iteration: Int, at pointInTime: Double) {
        guard var test = tests[id] else { return }
        if test.name.isEmpty { test.name = TestIdentity.wholeSuite }
        running[id, default: [:]][iteration] = (attempts.count, pointInTime)
        attempts.append(TestAttempt(test: test))
    }

    /// Parses `Module.Outer/Inner/name()/File.swift:1:2` for a function, `Module.Outer/Inner` for a suite.
    private static func identity(_ id: String, _ test: Payload) -> TestIdentity? {
        guard let dot = id.firstIndex(of: ".") else { return nil }
        let module = String(id[..<dot])
        var rest = id[id.index(after: dot)...]
        var name = ""
        if test.kind == "function" {
            guard let place = rest.lastIndex(of: "/") else { return nil }
            rest = rest[..<place]
            name = test.name ?? ""
            guard !name.isEmpty, rest.hasSuffix(name) else { return nil }
            rest = rest.dropLast(name.count)
            if rest.hasSuffix("/") { rest = rest.dropLast() }
            if name.hasSuffix("()") { name.removeLast(2) }
        }
        let suite = rest.split(separator: "/").joined(separator: ".")
        return TestIdentity(
            framework: TestIdentity.swiftTesting, module: module, suite: suite.isEmpty ? module : suite,
            name: name)
    }

    /// Joins the failure's message and the comments below it.
    private static func message(of event: Payload) -> String {
        let lines = event.messages?.map(\.text) ?? ["Issue recorded"] + (event.comments ?? [])
        let text = lines.joined(separator: "\n")
        return text.utf8.count > TestAttempt.messageLimit
            ? String(text.unicodeScalars.prefix(TestAttempt.messageLimit / 4)) + "…" : text
    }

    /// Extracts the comment from `Test name() skipped: "comment"`, the only place that has it before 6.5.
    private static func reason(_ event: Payload) -> String? {
        guard let text = event.messages?.first?.text else { return event.comments?.first }
        guard let start = text.firstRange(of: " skipped: ")?.upperBound else { return nil }
        let reason = text[start...]
        guard reason.count >= 2, reason.hasPrefix("\""), reason.hasSuffix("\"") else {
            return String(reason)
        }
        return String(reason.dropFirst().dropLast())
    }

    // MARK: - The stream's grammar

    private struct Record: Decodable {
        var kind: String
        var payload: Payload?
    }

    /// The payload of a test or of an event; the only field in common is `kind`.
    private struct Payload: Decodable {
        var kind: String
        // Fields of a test.
        var id: String?
        var name: String?
        // Fields of an event.
        var testID: String?
        var instant: Instant?
        /// Absent from 6.5 on, unless an environment variable asks for them.
        var messages: [Message]?
        /// The texts that the author of the test wrote; absent before 6.5.
        var comments: [String]?
        var issue: EventIssue?
        /// Absent before 6.5, when it was part of the issue.
        var sourceLocation: EventPlace?
        /// The number of the iteration, from 1; absent before 6.4.
        var iteration: Int?

        struct Instant: Decodable {
            var absolute: Double?
        }

        struct Message: Decodable {
            var text: String
        }
    }

    private struct EventIssue: Decodable {
        /// True unless the issue is known or a warning.
        let counts: Bool
        /// The place before 6.5; since then it is part of the event.
        let sourceLocation: EventPlace?

        /// Ignores a part of another form, because the failure counts more than its text.
        init(from decoder: any Decoder) throws {
            let parts = try decoder.container(keyedBy: CodingKeys.self)
            // Since 6.5, the comment of a known issue can take the place of `true`.
            let isKnown =
                (try? parts.decode(Bool.self, forKey: .isKnown))
                ?? ((try? parts.decode(String.self, forKey: .isKnown)) != nil)
            counts = (try? parts.decode(Bool.self, forKey: .isFailure)) ?? !isKnown
            sourceLocation = try? parts.decode(EventPlace.self, forKey: .sourceLocation)
        }

        private enum CodingKeys: String, CodingKey {
            case isKnown, isFailure, sourceLocation
        }
    }

    private struct EventPlace: Decodable {
        private var filePath: String?
        private var pathOfVersion0: String?
        private var fileID: String?
        private(set) var line: Int?

        var path: String? { filePath ?? pathOfVersion0 ?? fileID }

        private enum CodingKeys: String, CodingKey {
            case filePath, fileID, line
            case pathOfVersion0 = "_filePath"
        }
    }
}

import FailureArtifactsAnalysis
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsCommands

@Suite("list: sorting and filters") struct ListOptionsTests {
    private func bundle(
        _ number: Int, suite: String, test: String, outcome: String, at: String, size: Int,
        in fixture: borrowing Fixture
    ) throws {
        let metadata = Metadata.plain(test: test, message: "m")
            .replacing("PlainTests", with: suite).replacing("\"failed\"", with: "\"\(outcome)\"")
            .replacing("2026-11-21T07:08:09.123Z", with: at)
            .replacing("2026-11-21T07:08:09.120Z", with: at)
        let filler = (0..<size).map { _ in UInt8.random(in: 0...255) }
        try fixture.zip(
            "b/\(number).zip", [("metadata.json", Array(metadata.utf8)), ("attachments/x", filler)])
    }

    private func four(in fixture: borrowing Fixture) throws {
        let rows = [
            ("BTests", "testZ", "crashed", "2026-11-20T23:59:59.999Z", 5000),
            ("ATests", "testY", "failed", "2026-11-21T00:00:00.000Z", 100),
            ("BTests/Inner", "testA", "timedOut", "2026-11-19T12:00:00.000Z", 9000),
            ("ATests", "testA", "failed", "2026-11-21T12:30:00.000Z", 2000),
        ]
        for (number, row) in rows.enumerated() {
            try bundle(
                number, suite: row.0, test: row.1, outcome: row.2, at: row.3, size: row.4, in: fixture)
        }
    }

    /// Returns the numbers of the listed bundles in order, and checks that the text and JSON formats agree.
    private func listed(_ options: [String], _ fixture: borrowing Fixture) throws -> [String] {
        let text = run(["list", fixture.path("b")] + options)
        #expect(text.status == 0)
        let names = text.output.split(separator: "\n").compactMap { $0.split(separator: " ").last }
        let json = run(["list", "--json", fixture.path("b")] + options)
        let lines = json.output.split(separator: "\n").map { line in
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return Path.name(of: object?["bundle"] as? String ?? "")
        }
        let isSorted = options.contains { $0.hasPrefix("--sort") }
        #expect(lines == (isSorted ? names : names.sorted()).map(String.init))
        return names.map(String.init).map { Path.stem(of: $0) }
    }

    @Test(arguments: [
        ([], "2013"), (["--sort", "time"], "2013"), (["--sort", "-time"], "3102"),
        (["--sort", "suite"], "1302"), (["--sort=-suite"], "2013"), (["--sort", "test"], "3102"),
        (["--sort", "outcome"], "0132"), (["--sort", "size"], "1302"), (["--sort", "-name"], "3210"),
        (["--suite", "ATests"], "13"), (["--suite", "B*"], "20"), (["--suite", "*Inner"], "2"),
        (["--suite", "BTests", "--suite", "ATests"], "013"), (["--outcome", "failed"], "13"),
        (["--outcome", "crashed", "--outcome", "timedOut"], "20"),
        (["--since", "2026-11-21"], "13"), (["--since", "2026-11-21T12:30"], "3"),
        (["--since", "2026-11-20T23:59:59.999Z"], "013"),
        (["--since", "2026-11-20", "--suite", "B*", "--sort", "-size"], "0"),
    ])
    func `The bundles asked for, in the order asked for`(options: [String], expected: String) throws {
        let fixture = try Fixture()
        try four(in: fixture)
        #expect(try listed(options, fixture).joined() == expected)
    }

    @Test func `Nothing that fits is no failure, and is said`() throws {
        let fixture = try Fixture()
        try four(in: fixture)
        #expect(
            run("list", fixture.path("b"), "--suite", "CTests")
                == Outcome(
                    status: 0, output: "", error: "None of 4 bundles is what was asked for.\n"))
    }

    @Test func `The time is local`() throws {
        let fixture = try Fixture()
        try four(in: fixture)
        for (zone, time) in [("UTC", "Nov 19 12:00:00"), ("Asia/Tokyo", "Nov 19 21:00:00")] {
            let outcome = try Program.tool("list", fixture.path("b"), environment: ["TZ": zone])
            #expect(outcome.output.contains("  \(time)  "), "\(outcome.output)")
        }
        let narrow = run(["list", fixture.path("b"), "--sort", "time"], width: 80).output
        #expect(narrow.split(separator: "\n").allSatisfy { TextWidth.columns(of: String($0)) <= 80 })
    }

    @Test(arguments: [
        (
            ["--sort", "age"],
            "'--sort' needs one of time, suite, test, outcome, size, name, not 'age'."
        ),
        (["--outcome", "won"], "'--outcome' needs one of failed, "),
        (["--outcome", "won"], ", not 'won'."),
        (["--since", "yesterday"], "'--since' needs a date such as 2026-11-21 or"),
        (["--since", "yesterday"], ", not 'yesterday'."), (["--since", "2026"], ", not '2026'."),
        (["--since", "2026-13-01"], ", not '2026-13-01'."), (["--since", "-3d"], ", not '-3d'."),
        (["--suite", ""], "'--suite' needs a value: --suite SUITE."),
    ])
    func `What makes no sense is said`(options: [String], message: String) {
        let result = run(["list", "x"] + options)
        #expect(result.status == 64)
        #expect(result.error.contains(message))
    }

    @Test(arguments: [("90m", 5400), ("12h", 43_200), ("3d", 259_200), ("1.5d", 129_600)])
    func `A while ago`(text: String, seconds: Int64) {
        let now = Timestamp(seconds: 1_800_000_000, milliseconds: 250)
        #expect(ListFilter.pointInTime(text, now: now) == 1_800_000_000_250 - seconds * 1000)
    }

    @Test(arguments: [
        ("ATests", "ATests", true), ("ATests", "BATests", false), ("A*", "ATests", true),
        ("*", "", true), ("*Tests", "ATests", true), ("A*s", "As", true), ("A*As", "As", false),
        ("A*T*s", "ATests", true), ("A*T*T*s", "ATests", false), ("a*", "ATests", false),
        ("果*", "果物Tests", true), ("A.Tests", "AxTests", false),
    ])
    func `Suites are patterns`(pattern: String, name: String, fits: Bool) {
        #expect(ListFilter.matches(name, pattern: pattern) == fits)
    }
}

import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsCommands

/// The runs that `list` tells apart, and the tests that have passed since.
@Suite struct ListSectionTests {
    private static let service = """
        ,
         "ci": {"service": "GitHub Actions", "variables": {"GITHUB_RUN_ID": "7", "GITHUB_JOB": "test"}}
        """

    /// Writes a bundle of a process outside CI.
    private func local(
        _ number: Int, at second: Int, process: Int, test: String, run: String? = nil,
        in fixture: borrowing Fixture
    ) throws {
        let facts = "\"processID\": \(process)" + (run.map { ", \"run\": \"\($0)\"" } ?? "")
        try fixture.attempt(
            "T.\(test)-0000000\(number).zip", test: test, at: second,
            facts: [("\"processID\": 42" + Self.service, facts)])
    }

    /// Returns the last digits of the listed bundles, by section.
    private func sections(_ fixture: borrowing Fixture) -> [[Int]] {
        let lines = run("list", fixture.path("b")).output.split(
            separator: "\n", omittingEmptySubsequences: false)
        return lines.split(separator: "").map { section in
            section.compactMap { line in
                line.hasSuffix(".zip") ? line.dropLast(4).last?.wholeNumberValue : nil
            }
        }
    }

    @Test func runsOfTheToolAreApartAndTheNewestIsLast() throws {
        let fixture = try Fixture()
        try local(1, at: 30, process: 1, test: "a", run: "f0", in: fixture)
        try local(2, at: 10, process: 2, test: "b", run: "f1", in: fixture)
        // A run within a run, and another process of it.
        try local(3, at: 40, process: 3, test: "c", run: "f0.12", in: fixture)
        try local(4, at: 20, process: 4, test: "d", run: "f1", in: fixture)
        #expect(sections(fixture) == [[2, 4], [1, 3]])
    }

    @Test func otherRunsAreToldByTheirProcesses() throws {
        let fixture = try Fixture()
        // A process of many minutes, and others of the same run.
        try local(1, at: 0, process: 1, test: "a", in: fixture)
        try local(2, at: 600, process: 1, test: "b", in: fixture)
        try local(3, at: 601, process: 2, test: "c", in: fixture)
        // The same test again.
        try local(4, at: 602, process: 3, test: "a", in: fixture)
        // Another test of the process before.
        try local(6, at: 603, process: 3, test: "e", in: fixture)
        // Another test, much later.
        try local(5, at: 1000, process: 4, test: "d", in: fixture)
        #expect(sections(fixture) == [[1, 2, 3], [4, 6], [5]])
    }

    @Test(arguments: [true, false]) func laterPassesAreApart(isRecorded: Bool) throws {
        let fixture = try Fixture()
        try local(1, at: 1, process: 1, test: "a", in: fixture)
        try local(2, at: 2, process: 1, test: "b", in: fixture)
        if isRecorded {
            try fixture.write(Array("T.a-00000001.zip\n".utf8), to: "b/.passed")
        } else {
            try fixture.attempt("T.a-passed-00000003.zip", test: "a", at: 3, outcome: "passed")
        }
        #expect(sections(fixture).prefix(2) == [[1], [2]])
        #expect(run("list", fixture.path("b")).output.hasPrefix("Passed since"))
        let flags = run("list", "--json", fixture.path("b")).output.split(separator: "\n").map {
            $0.contains("\"passedSince\":true")
        }
        #expect(flags == (isRecorded ? [true, false] : [false, false, false]))
    }

    @Test func theTimeIsLocal() throws {
        let fixture = try Fixture()
        try local(1, at: 7, process: 1, test: "a", in: fixture)
        for (zone, time) in [("UTC", "07:08:07"), ("Asia/Tokyo", "16:08:07")] {
            let outcome = try Program.tool("list", fixture.path("b"), environment: ["TZ": zone])
            #expect(outcome.output.contains(" \(time)  "), "\(outcome.output)")
        }
    }

    @Test func bundlesOfOneTestAreToldApart() throws {
        let fixture = try Fixture()
        let attempt = ("\"attempt\": 1", "\"attempt\": 2")
        let message = "\"message\": \"m\""
        try fixture.attempt("T.a-00000001.zip", at: 1)
        try fixture.attempt("T.a-00000002.zip", at: 1, facts: [attempt])
        for (number, line) in [(3, 7), (4, 8)] {
            try fixture.attempt(
                "T.b-0000000\(number).zip", test: "b", at: 1,
                facts: [
                    (message, message + ", \"file\": \"/src/Tests/ATests.swift\", \"line\": \(line)")
                ])
        }
        try fixture.attempt(
            "T.c-00000005.zip", test: "c", at: 1,
            facts: [("\"attempt\": 1", "\"arguments\": [\"x\", \"2\"], \"attempt\": 1")])
        let lines = run("list", fixture.path("b")).output.split(separator: "\n")
        let tests = ["a  ", "a, attempt 2 ", "b at ATests.swift:7 ", "b at ATests.swift:8 ", "c(x, 2) "]
        #expect(lines.count == tests.count)
        for (line, test) in zip(lines, tests) {
            #expect(line.contains("  PlainTests.\(test)"), "\(line)")
        }
    }
}

import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsCommands

/// The tests that have passed since, and the times.
@Suite struct ListSectionTests {
    private static let service = """
        ,
         "ci": {"service": "GitHub Actions", "variables": {"GITHUB_RUN_ID": "7", "GITHUB_JOB": "test"}}
        """

    /// Writes a bundle of a process outside CI.
    private func local(
        _ number: Int, at second: Int, test: String, in fixture: borrowing Fixture
    ) throws {
        try fixture.attempt(
            "T.\(test)-0000000\(number).zip", test: test, at: second, facts: [(Self.service, "")])
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

    @Test(arguments: [true, false]) func laterPassesAreApart(isRecorded: Bool) throws {
        let fixture = try Fixture()
        try local(1, at: 1, test: "a", in: fixture)
        try local(2, at: 2, test: "b", in: fixture)
        if isRecorded {
            try fixture.write(Array("T.a-00000001.zip\n".utf8), to: "b/.passed")
        } else {
            try fixture.attempt("T.a-passed-00000003.zip", test: "a", at: 3, outcome: "passed")
        }
        #expect(sections(fixture) == (isRecorded ? [[1], [2]] : [[1], [2, 3]]))
        #expect(run("list", fixture.path("b")).output.hasPrefix("Passed since"))
        let flags = run("list", "--json", fixture.path("b")).output.split(separator: "\n").map {
            $0.contains("\"passedSince\":true")
        }
        #expect(flags == (isRecorded ? [true, false] : [false, false, false]))
    }

    @Test func theTimeIsLocal() throws {
        let fixture = try Fixture()
        try local(1, at: 7, test: "a", in: fixture)
        for (zone, time) in [("UTC", "07:08:07"), ("Asia/Tokyo", "16:08:07")] {
            let outcome = try Program.tool("list", fixture.path("b"), environment: ["TZ": zone])
            #expect(outcome.output.contains(" \(time)  "), "\(outcome.output)")
        }
    }
}

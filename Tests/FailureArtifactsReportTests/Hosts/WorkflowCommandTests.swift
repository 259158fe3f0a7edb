import FailureArtifactsAnalysis
import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsReport

/// GitHub's workflow commands.
///
/// The reader in these tests is written after
/// [the runner](https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs).
@Suite struct WorkflowCommandTests {
    /// Reads a line as the runner does: command, properties, data.
    private func read(_ line: String) throws -> (
        command: String, properties: [String: String], data: String
    )? {
        guard line.hasPrefix("::"), let end = line.dropFirst(2).firstRange(of: "::") else { return nil }
        let head = line[line.index(line.startIndex, offsetBy: 2)..<end.lowerBound]
        let parts = head.split(separator: " ", maxSplits: 1)
        var properties: [String: String] = [:]
        for pair in parts.dropFirst().first?.split(separator: ",") ?? [] {
            let sides = pair.split(separator: "=", maxSplits: 1)
            properties[String(sides[0])] = decoded(String(sides.last ?? ""), isProperty: true)
        }
        return (
            String(parts.first ?? ""), properties,
            decoded(String(line[end.upperBound...]), isProperty: false)
        )
    }

    private func decoded(_ text: String, isProperty: Bool) -> String {
        var text = text
        for (code, character) in [("%0D", "\r"), ("%0A", "\n")] {
            text = text.replacing(code, with: character)
        }
        if isProperty {
            for (code, character) in [("%3A", ":"), ("%2C", ",")] {
                text = text.replacing(code, with: character)
            }
        }
        return text.replacing("%25", with: "%")
    }

    @Test func aFailureIsMarkedInItsFile() throws {
        let bundle = try Sample.bundle(
            "a", "100% of a, b: c\r\n::error::d\n##[error]e", file: "/w/s/A, B:C.swift")
        let lines = WorkflowCommand.annotations(
            for: BundleCause.causes(of: [bundle]), in: RepositoryFiles(root: "/w/s"))
        try #require(lines.count == 1)
        #expect(!lines[0].contains("\n"))
        let read = try #require(try read(lines[0]))
        #expect(read.command == "error")
        #expect(read.properties == ["file": "A, B:C.swift", "line": "3", "title": "Suite.a failed"])
        #expect(read.data == "100% of a, b: c\n::error::d\n##[error]e")
    }

    /// A file that isn't in the checkout, such as one of another container, has its path in the package.
    @Test func aFileElsewhereIsRelativeToThePackage() throws {
        var metadata = try BundleMetadata(
            json: Array(Metadata.plain(test: "a", message: "m").utf8), of: "sample")
        metadata.packageRoot = "/w/app"
        metadata.failures[0].file = "/w/app/Tests/A.swift"
        metadata.failures[0].line = 3
        let lines = WorkflowCommand.annotations(
            for: BundleCause.causes(of: [
                ReportedBundle(metadata, location: BundleLocation(path: "a.zip"))
            ]),
            in: RepositoryFiles(root: nil))
        #expect(lines == ["::error file=Tests/A.swift,line=3,title=PlainTests.a failed::m"])
    }

    @Test(arguments: [nil, "<EXPR>"]) func aFailureWithoutAPlace(_ file: String?) throws {
        let bundle = try Sample.bundle("a", "threw error \"x\"", file: file)
        let lines = WorkflowCommand.annotations(
            for: BundleCause.causes(of: [bundle]), in: RepositoryFiles(root: nil))
        #expect(lines == ["::error title=Suite.a failed::threw error \"x\""])
    }

    @Test func tenAtMostAndOneForEachCause() throws {
        let bundles = try (0..<60).map { number in
            try Sample.bundle(
                "t\(number % 15)", "m", at: number % 40, fingerprint: "\(number % 15)",
                line: 3 + number % 15)
        }
        let lines = WorkflowCommand.annotations(
            for: BundleCause.causes(of: bundles), in: RepositoryFiles(root: nil))
        #expect(lines.count == 10)
        #expect(lines[0] == "::error file=/p/A.swift,line=3,title=Suite.t0 failed%2C 4 times::m")
        #expect(lines[9] == "::error::6 more failures: see the summary of the run.")
    }

    @Test func longMessagesAreCut() throws {
        let bundle = try Sample.bundle("a", String(repeating: "果", count: 5000) + " is not 7")
        let lines = WorkflowCommand.annotations(
            for: BundleCause.causes(of: [bundle]), in: RepositoryFiles(root: nil))
        let text = try #require(try read(lines[0])).data
        #expect((3990...4003).contains(text.utf8.count))
        #expect(text.hasPrefix("果果") && text.hasSuffix("果果 is not 7"))
    }

    @Test func bracketsDiffer() {
        let (one, other) = (WorkflowCommand.brackets(), WorkflowCommand.brackets())
        #expect(one.start != other.start)
        #expect(one.end == "::" + one.start.dropFirst("::stop-commands::".count) + "::")
        #expect(one.end.count == 36)
    }
}

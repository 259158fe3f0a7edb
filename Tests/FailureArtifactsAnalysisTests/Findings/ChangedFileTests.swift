import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// Findings about watched files.
@Suite struct ChangedFileTests {
    /// Returns the first finding about a file with two contents.
    private func finding(_ message: String, _ old: String?, _ new: String?) throws -> Finding? {
        let fixture = try Fixture()
        let kind = old == nil ? "added" : new == nil ? "deleted" : "modified"
        var parts = ["\"path\": \"a/settings.txt\"", "\"change\": \"\(kind)\""]
        var entries: [(String, [UInt8])] = []
        for (key, folder, content) in [("earlierEntry", "start", old), ("entry", "failure", new)] {
            guard let content else { continue }
            let name = "files/app/\(folder)/a/settings.txt"
            parts.append("\"\(key)\": \"\(name)\"")
            entries.append((name, Array(content.utf8)))
        }
        let metadata = Metadata.plain(test: "test", message: message).replacing(
            "\"attachments\": []",
            with: """
                "attachments": [], "files": [{"name": "app", "count": -1, "omittedChanges": \(Int.max), "changes": [{\(parts.joined(separator: ", "))}]}]
                """)
        let path = try fixture.zip(
            "A.test-1a2b3c4d.zip", [("metadata.json", Array(metadata.utf8))] + entries)
        let bundle = try BundleReader(
            try BundleLocator.single(at: path), scratchDirectory: fixture.directory)
        let explanation = Explanation(
            FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
        #expect(explanation.files.flatMap(\.files).map(\.change.path) == ["a/settings.txt"])
        #expect(explanation.files.first?.count == 1 + 1 << 40)
        return explanation.findings.first
    }

    private let message = #"XCTAssertEqual failed: (\"640\") is not equal to (\"300\")"#

    @Test func bothValues() throws {
        let finding = try #require(
            try finding(
                message, "tabs = 300\nheight = 2\nwidth = 300,\n",
                "tabs = 300\nheight = 3\nwidth = 640,\n"))
        #expect(finding.code == .changedFile && finding.confidence == .likely && finding.store == nil)
        #expect(finding.title == "a/settings.txt: width = 300 became width = 640")
        #expect(
            finding.explanation
                == "The message names '300' and '640', and this line of a file in 'app' changed during the test."
        )
    }

    /// A line that became the expected value explains the failure only if the operands have the other order.
    @Test func theExpectedValueIsNotTheCulprit() throws {
        let change = ("width = 640\n", "width = 300\n")
        let possible = try #require(try finding(message, change.0, change.1))
        #expect(possible.confidence == .possible)
        let known = "Expectation failed: (width → 640) == 300"
        #expect(try finding(known, change.0, change.1) == nil)
        #expect(try finding(known, change.1, change.0)?.confidence == .likely)
    }

    @Test func oneValue() throws {
        let added = try #require(try finding(message, nil, "width = 640\n"))
        #expect(added.confidence == .possible && added.title == "a/settings.txt: width = 640 was added")
        let removed = try #require(try finding(message, "width = 300\n", nil))
        #expect(
            removed.confidence == .possible && removed.title == "a/settings.txt: width = 300 was removed"
        )
    }

    /// Lines are paired by their beginnings, whatever lies between them.
    @Test func linesInAnotherPlace() throws {
        let finding = try #require(
            try finding(message, "tab.b = 1\nwidth = 300\n", "width = 640\n"))
        #expect(finding.title == "a/settings.txt: width = 300 became width = 640")
    }

    @Test(arguments: [
        // A part of a longer number, values of unchanged lines, and values that many lines have.
        (#"XCTAssertEqual failed: (\"640\") is not equal to (\"300\")"#, "x = 3000\n", "x = 16400\n"),
        (
            #"XCTAssertEqual failed: (\"640\") is not equal to (\"300\")"#, "x = 640\ny = 1\n",
            "x = 640\ny = 2\n"
        ),
        (#"XCTAssertEqual failed: (\"1\") is not equal to (\"3\")"#, "y = 2\n", "y = 1\n"),
        ("It went wrong", "y = 2\n", "y = 1\n"),
    ])
    func noFinding(message: String, old: String, new: String) throws {
        #expect(try finding(message, old, new) == nil)
    }
}

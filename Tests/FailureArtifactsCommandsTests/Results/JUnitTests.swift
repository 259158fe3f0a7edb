import FailureArtifactsBundle
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsCommands

@Suite struct JUnitTests {
    private func xml(_ results: TestResults) throws -> String {
        var text = ""
        try JUnitText(results: results) { "at/" + $0 }.write { text += $0 }
        return text
    }

    @Test func allKindsOfResults() throws {
        var skipped = Sample.attempt("skipped", .skipped)
        skipped.reason = "not <here>"
        let results = TestResults(
            attempts: [
                Sample.attempt("passed", .passed, seconds: 0.0004), skipped,
                Sample.attempt("unknown", .passed, seconds: nil),
                Sample.attempt("failed", .failed, "XCTAssertTrue failed - a\nb", "second"),
                Sample.attempt("again", .failed, "one"), Sample.attempt("again", .failed, "two"),
                Sample.attempt("flaky", .failed, "one"), Sample.attempt("flaky", .passed),
                Sample.attempt("ended", .unfinished),
                Sample.attempt("new", .passed, module: "M", framework: "Swift Testing"),
            ],
            bundles: [
                try Sample.bundle("failed", "XCTAssertTrue failed - a\nb", "second"),
                try Sample.bundle("ended", "gone", outcome: .timedOut, file: nil),
            ])
        #expect(
            try xml(results) == """
                <?xml version="1.0" encoding="UTF-8"?>
                <testsuites tests="8" failures="2" errors="1" time="8.000">
                  <testsuite name="Suite" tests="7" failures="2" errors="1" skipped="1" time="7.000">
                    <testcase classname="Suite" name="passed" time="0.000"/>
                    <testcase classname="Suite" name="skipped" time="1.000">
                      <skipped message="not &lt;here&gt;"/>
                    </testcase>
                    <testcase classname="Suite" name="unknown"/>
                    <testcase classname="Suite" name="failed" time="1.000">
                      <failure message="XCTAssertTrue failed - a" type="XCTAssertTrue">/p/A.swift:3: XCTAssertTrue failed - a
                b
                /p/A.swift:3: second</failure>
                      <system-out>[[ATTACHMENT|at/failure-artifacts/failed-0.zip]]</system-out>
                    </testcase>
                    <testcase classname="Suite" name="again" time="2.000">
                      <failure message="one" type="failed">/p/A.swift:3: one</failure>
                      <rerunFailure message="two" type="failed"><stackTrace>/p/A.swift:3: two</stackTrace></rerunFailure>
                    </testcase>
                    <testcase classname="Suite" name="flaky" time="2.000">
                      <flakyFailure message="one" type="failed"><stackTrace>/p/A.swift:3: one</stackTrace></flakyFailure>
                    </testcase>
                    <testcase classname="Suite" name="ended" time="1.000">
                      <error message="gone" type="timedOut">gone</error>
                      <system-out>[[ATTACHMENT|at/failure-artifacts/ended-0.zip]]</system-out>
                    </testcase>
                  </testsuite>
                  <testsuite name="M.Suite" tests="1" failures="0" errors="0" skipped="0" time="1.000">
                    <testcase classname="M.Suite" name="new()" time="1.000"/>
                  </testsuite>
                </testsuites>

                """)
    }

    /// All characters there are below U+0300, and the ends of planes: a parser gives back what was written.
    @Test func anyTextIsXML() throws {
        var text = String.UnicodeScalarView()
        for value in UInt32(0)..<0x300 { if let scalar = Unicode.Scalar(value) { text.append(scalar) } }
        for scalar: Unicode.Scalar in [
            "\u{2028}", "\u{FFFD}", "\u{FFFE}", "\u{FFFF}", "\u{1FFFF}", "\u{1F600}",
        ] {
            text.append(scalar)
        }
        let hostile = "]]>&amp;<![CDATA[ \"' " + String(text)
        let document =
            "<a b=\"\(XMLText.attribute(hostile))\">\(XMLText.content(hostile))</a>"
        let read = try Program.python(
            """
            import sys, xml.etree.ElementTree as tree
            root = tree.fromstring(open(sys.argv[1], "rb").read())
            for text in (root.attrib["b"], root.text): print(text.encode().hex())
            """, document)
        var expected = ""
        for scalar in hostile.unicodeScalars {
            switch scalar.value {
            case 9, 10, 13: expected.unicodeScalars.append(scalar)
            case 0..<0x20, 0xFFFE, 0xFFFF: expected += "\\u{\(String(scalar.value, radix: 16))}"
            default: expected.unicodeScalars.append(scalar)
            }
        }
        let hexadecimal = ValueText.hexadecimal(Array(expected.utf8)).lowercased()
        #expect(read == "\(hexadecimal)\n\(hexadecimal)\n")
    }

    @Test func longTextsAreCut() throws {
        let long = String(repeating: "果", count: 200_000)
        let text = try xml(TestResults(attempts: [Sample.attempt("a", .failed, long)], bundles: []))
        #expect(text.utf8.count < 100_000)
        #expect(text.contains("…"))
    }

    @Test(arguments: [
        (0, "0.000"), (0.0005, "0.001"), (59.9996, "60.000"), (-1, "0.000"), (12345.678, "12345.678"),
        (Double.infinity, "1000000000.000"),
    ])
    func times(_ seconds: Double, _ text: String) {
        #expect(JUnitText.time(seconds) == text)
    }

    // MARK: - The command

    @Test func ofBundlesLogsAndStreams() throws {
        let fixture = try Fixture()
        try fixture.ledger("failure-artifacts/LedgerTests.testTransfer-1a2b3c4d.zip")
        try fixture.write(
            Array(
                """
                Test Case 'LedgerTests.testTransfer' started at now
                x.swift:1: error: LedgerTests.testTransfer : XCTAssertEqual failed: ("90")
                Test Case 'LedgerTests.testTransfer' failed (0.25 seconds)
                Test Case 'LedgerTests.testOther' started at now
                Test Case 'LedgerTests.testOther' passed (0.5 seconds)

                """.utf8), to: "log")
        try fixture.write(
            Array(
                (#"{"kind":"test","payload":{"kind":"function","id":"M.a()/F.swift:1:2","name":"a()"}}"#
                    + "\n"
                    + #"{"kind":"event","payload":{"kind":"testStarted","testID":"M.a()/F.swift:1:2"}}"#)
                    .utf8),
            to: "events")
        let outcome = try Program.tool(
            "junit", "failure-artifacts", "--log", "log", "--events", "events", "-o", "j.xml",
            environment: ["CI_PROJECT_DIR": ""], directory: fixture.directory)
        #expect(outcome == Outcome(status: 0, output: "", error: ""))
        let text = String(
            decoding: try FileSystem.contents(ofFile: fixture.path("j.xml")), as: UTF8.self)
        #expect(text.contains("<testcase classname=\"LedgerTests\" name=\"testOther\" time=\"0.500\"/>"))
        #expect(
            text.contains(
                "time=\"0.250\">\n      <failure message=\"XCTAssertEqual failed: (&quot;90&quot;) is"))
        #expect(
            text.contains(
                "[[ATTACHMENT|failure-artifacts/LedgerTests.testTransfer-1a2b3c4d.zip]]</system-out>"))
        #expect(
            text.contains(
                "<error message=\"The process ended in the middle of the test.\" type=\"crashed\">"))
        // GitLab looks from the project's directory, wherever the tool was run.
        let elsewhere = try Program.tool(
            "junit", fixture.path("failure-artifacts"),
            environment: ["CI_PROJECT_DIR": fixture.directory], directory: "/")
        #expect(elsewhere.output.contains("[[ATTACHMENT|failure-artifacts/LedgerTests"))
        #expect(elsewhere.output.contains("tests=\"1\" failures=\"1\""))
    }

    @Test func whatCannotBeRead() throws {
        let fixture = try Fixture()
        #expect(run("junit").status == 64)
        let missing = run("junit", "--log", fixture.path("missing"))
        #expect(missing.status == 66)
        #expect(missing.error.contains("There is no file '\(fixture.path("missing"))'."))
        #expect(run("junit", fixture.path("missing")).status == 66)
        #expect(run("junit", "--log", fixture.directory).status == 66)
        #expect(run("junit", "--log", "/dev/null").status == 66)
    }

    /// A file takes the place of a file only, and of the one that a link leads to.
    @Test func whereFilesAreWritten() throws {
        let fixture = try Fixture()
        let bundle = try fixture.ledger()
        try fixture.write(Array("old".utf8), to: "there/j.xml")
        let made = try Program.run(
            "/bin/sh", ["-c", "ln -s there/j.xml link; mkfifo pipe"], directory: fixture.directory)
        #expect(made.status == 0)
        #expect(run("junit", bundle, "-o", fixture.path("link")).status == 0)
        #expect(
            try FileSystem.contents(ofFile: fixture.path("there/j.xml")).starts(
                with: Array("<?xml".utf8)))
        #expect(try FileSystem.contents(ofDirectory: fixture.path("there")) == ["j.xml"])
        for command in [["junit"], ["summary"], ["report"]] {
            for place in ["pipe", "there"] {
                let outcome = run(command + [bundle, "-o", fixture.path(place)])
                #expect(outcome.status == 74)
                #expect(outcome.error.contains("is no regular file"))
            }
        }
        let ran = try Program.tool(
            "run", "--junit", "pipe", "--", "true", directory: fixture.directory)
        #expect(ran.status == 0)
        #expect(ran.error.contains("'pipe' is no regular file"))
    }
}

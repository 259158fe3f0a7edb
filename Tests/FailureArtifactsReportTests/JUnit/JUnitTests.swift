import FailureArtifactsAnalysis
import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsReport

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
                  <testsuite name="Suite" tests="8" failures="2" errors="1" skipped="1" time="8.000">
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
                    <testcase classname="Suite" name="new()" time="1.000"/>
                  </testsuite>
                </testsuites>

                """)
    }

    /// A parser reads back the text that was written: all characters below U+0300, and some at the ends of planes.
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
        let hexadecimal = hexadecimalText(Array(expected.utf8)).lowercased()
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
}

@testable import FailureArtifactsAnalysis
import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
import Testing

@Suite struct TextTests {
    @Test(arguments: [
        ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("果物", 4), ("ﾃｽﾄ", 3), ("한글", 4), ("👩‍👩‍👧", 2),
        ("🇯🇵", 2), ("❤️", 2), ("→", 1), ("…", 1), ("а", 1), ("ａ", 2), ("a\u{200B}b", 2),
    ])
    func columns(_ text: String, _ expected: Int) {
        #expect(TextWidth.columns(of: text) == expected)
    }

    @Test(arguments: [
        ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("果物を更新", 6, "果物…"), ("果物", 3, "果…"),
        ("果物", 2, "…"),
        ("ab", 1, "…"), ("ab", 0, ""),
    ])
    func shortening(_ text: String, _ limit: Int, _ expected: String) {
        let result = TextWidth.shortened(text, to: limit)
        #expect(result == expected)
        #expect(TextWidth.columns(of: result) <= limit)
    }

    /// A character may have any number of marks, and the last of many flags is found in quadratic time.
    @Test(arguments: [
        "a" + String(repeating: "\u{301}", count: 400_000), String(repeating: "🇦🇧", count: 400_000),
    ])
    func longTextsAreCut(_ text: String) throws {
        #expect(TextWidth.shortened(text, to: 100).unicodeScalars.count <= 801)
        #expect(TextWidth.abridged(text, to: 100).unicodeScalars.count <= 801)
        let excerpt = try #require(TextExcerpt(of: text, rows: 6))
        #expect(excerpt.start.utf8.count + excerpt.end.utf8.count < 20_000)
        let tail = try #require(TextTail(of: Array(text.utf8), lines: 1))
        #expect(tail.lines[0].unicodeScalars.count == 201)
    }

    @Test func controlCharactersDoNotReachTheTerminal() {
        #expect(SafeText.line("a\u{1B}[2Jb\nc\r\n\td\u{202E}") == "a\\u{1b}[2Jb c d\\u{202e}")
        #expect(SafeText.lines("a\tb\n\u{7}\r\nc") == ["a  b", "\\u{7}", "c"])
        #expect(SafeText.cell("a\nb\tc\u{0}") == "a\\nb\\tc\\u{0}")
        #expect(SafeText.line("果物 ok") == "果物 ok")
    }

    @Test(arguments: [
        ("::error file=x::y", ":\\u{3a}error file=x::y"), (" \u{3000}::a::", " \u{3000}:\\u{3a}a::"),
        ("a\n\t::b::\r::c", "a\n\t:\\u{3a}b::\r:\\u{3a}c"), (":::", ":\\u{3a}:"),
        ("a ::b::c", "a ::b::c"),
        (":a::b", ":a::b"), ("##[error]x", "#\\u{23}[error]x"), ("a ###[b", "a ##\\u{23}[b"),
        ("##vso[a]##VSO[b]", "#\\u{23}vso[a]#\\u{23}VSO[b]"),
        ("##teamcity[a", "#\\u{23}teamcity[a"), ("## Title [a]", "## Title [a]"), ("#[a]", "#[a]"),
        ("a##", "a##"), ("", ""),
    ])
    func onlyCommandsOfCIServicesAreDisarmed(_ text: String, _ expected: String) {
        #expect(HostCommand.disarmed(text) == expected)
        #expect(HostCommand.disarmed(expected) == expected)
    }

    @Test func jsonIsPrintableAndKeepsItsValues() throws {
        let text =
            "\u{0}\u{1B}\u{7F}\u{80}\u{9F}\u{A0}\u{61C}\u{200D}\u{200E}\u{2028}\u{202E}\u{2069}é果😀\\##[a]\n::b::"
        let expected =
            "\\u0000\\u001b\\u007f\\u0080\\u009f\u{A0}\\u061c\u{200D}\\u200e\\u2028\\u202e\\u2069é果😀\\\\#\\u0023[a]\\n::b::"
        let forms = [try JSONText.line([text]), try JSONText.pretty([text])]
        for json in forms + ["[\(JSONText.string(text))]"] {
            // Digits of escapes are in lower or upper case.
            #expect(json.lowercased().contains("\"\(expected)\""), "\(json)")
            #expect(try JSONDecoder().decode([String].self, from: Data(json.utf8)) == [text])
        }
    }

    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1 KB"), (1536, "1.5 KB"), (16_384, "16 KB"),
            (1_048_064, "1 MB"), (1_048_576, "1 MB"), (10 << 30, "10 GB"), (UInt64.max, "16 EB"),
        ] as [(UInt64, String)])
    func sizes(_ bytes: UInt64, _ expected: String) {
        #expect(Counted.bytes(bytes) == expected)
    }

    @Test(arguments: [
        ("XCTAssertEqual failed: (\"1\") is not equal to (\"2\")", "(\"1\") is not equal to (\"2\")"),
        ("XCTAssertEqual failed: (\"1\") is not equal to (\"2\") - ", "(\"1\") is not equal to (\"2\")"),
        (
            "XCTAssertEqual failed: (\"1\") is not equal to (\"2\") - why",
            "(\"1\") is not equal to (\"2\") - why"
        ),
        ("XCTAssertTrue failed", "XCTAssertTrue failed"), ("boom", "boom"), ("mine - ", "mine - "),
        ("XCTAssertTrue failed - ", "XCTAssertTrue failed"),
        ("XCTAssertNil failed: \"34\" - ", "XCTAssertNil failed: \"34\""),
        ("XCTAssertTrue failed - a failed: (\"1\")", "XCTAssertTrue failed - a failed: (\"1\")"),
        ("failed: caught error: \"x\"", "caught error: \"x\""),
        ("threw error \"x\"", "threw error \"x\""),
    ])
    func essence(_ message: String, _ expected: String) {
        #expect(FailureText.essence(of: message) == expected)
    }

    /// The place of a crash, and the tests that may have crashed, aren't lost if the line is cut.
    @Test(
        arguments: [
            (
                "Fatal error: Index out of range\nThe process was ended by signal 4 (SIGILL) in the middle of the test.",
                "/p/Sources/Cart.swift", "Index out of range, Cart.swift:42"
            ),
            (
                "Fatal error: 'try!' expression unexpectedly raised an error: SQLite error 19: NOT NULL",
                "Swift/ErrorType.swift", "try! raised SQLite error 19: NOT NULL"
            ),
            (
                "Precondition failed: a > b", "Shop/Cart.swift",
                "Precondition failed: a > b, Cart.swift:42"
            ),
            ("Fatal error", nil, "Fatal error"),
            (
                "The process was ended by signal 11 (SIGSEGV) in the middle of the test.", nil,
                "ended by signal 11 (SIGSEGV)"
            ),
            (
                "The process ended in the middle of the test.", nil,
                "The process ended in the middle of the test."
            ),
            (
                "The test was still running when the time limit of 2s was up.", nil,
                "still running when the time limit of 2s was up"
            ),
        ] as [(String, String?, String)])
    func headlines(_ message: String, _ file: String?, _ expected: String) {
        var failure = BundleMetadata.Failure(
            message: message, file: file, line: 42, kind: .termination, at: .now)
        #expect(FailureText.headline(of: failure) == expected)
        failure.suspects = .init(count: 6, tests: ["A.b", "A.c"], includesTest: true)
        #expect(FailureText.headline(of: failure) == "one of 6 tests crashed: " + expected)
        failure.suspects = .init(count: 1, tests: ["A.b"], includesTest: false)
        #expect(FailureText.headline(of: failure) == "A.b crashed: " + expected)
        failure.suspects = .init(count: 2, tests: ["A.b", "A.c"], includesTest: false)
        #expect(FailureText.headline(of: failure) == "A.b or another test crashed: " + expected)
    }

    /// Both values of an assertion are seen on a narrow line.
    @Test(
        arguments: [
            ("XCTAssertEqual failed: (\"1\") is not equal to (\"2\\n\") - a\nb", "1 ≠ 2\\n - a b"),
            ("XCTAssertEqual failed: (\"1\") is not equal to (\"2\")", "1 ≠ 2"),
            ("XCTAssertEqual failed: (\"1\") is not equal to (\"2\") - ", "1 ≠ 2"),
            (
                "XCTAssertEqual failed: (\"a\") is not equal to (\"b\") is not equal to (\"c\")",
                "(\"a\") is not equal to (\"b\") is not equal to (\"c\")"
            ),
            (
                "XCTAssertLessThan failed: (\"3\") is not less than (\"2\")",
                "(\"3\") is not less than (\"2\")"
            ),
            ("Expectation failed: try a.count() == 1", "try a.count() == 1"), ("a\nb", "a b"),
            ("failed - why", "why"),
        ] as [(String, String)])
    func headlinesOfAssertions(_ message: String, _ expected: String) {
        let failure = BundleMetadata.Failure(
            message: message, file: "/p/T.swift", line: 1, kind: .assertion, at: .now)
        #expect(FailureText.headline(of: failure) == expected)
        #expect(FailureText.headline(of: nil) == "")
    }

    /// A crash names a module and a file's name, which isn't a path.
    @Test(
        arguments: [
            ("Shop/Cart.swift", 42, .termination, "Cart.swift:42 in module Shop"),
            ("/p/Cart.swift", 42, .termination, "/p/Cart.swift:42"),
            ("Swift/Array.swift", 705, .termination, nil),
            ("Cart.swift", nil, .termination, "Cart.swift"),
            ("Tests/CartTests.swift", 42, .assertion, "Tests/CartTests.swift:42"),
            (nil, nil, .error, nil),
        ] as [(String?, Int?, BundleMetadata.Failure.Kind, String?)])
    func places(
        _ file: String?, _ line: Int?, _ kind: BundleMetadata.Failure.Kind, _ expected: String?
    ) {
        let failure = BundleMetadata.Failure(message: "m", file: file, line: line, kind: kind, at: .now)
        #expect(FailureText.place(of: failure, in: PackageRoot(.failed(in: []))) == expected)
    }

    @Test(arguments: [
        "", "a", "a b", "it's", "''", "$HOME", "`id`", "a\nb", "*", "~", "#", "!", "\\", "-n", "a/b.zip",
        "テスト.zip", "é", "{a,b}", "a&b", "\u{2028}x", "(", "=ls", "a=b", "%x",
        "'\u{301} a", "it'\u{301}s; echo b '",
    ])
    func wordsForAShell(_ text: String) throws {
        let outcome = try Program.run("/bin/sh", ["-c", "printf '%s.' " + ShellWord.quoted(text)])
        #expect(outcome == Outcome(status: 0, output: text + ".", error: ""))
    }

    @Test(arguments: [
        ("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("1h30m5s", 5405), ("1h5s", 3605),
        ("0.5", 0.5), ("1.5h", 5400), ("007", 7), ("8784h", 31_622_400),
    ])
    func durations(_ text: String, _ seconds: Double) {
        #expect(DurationText.seconds(text) == seconds)
        #expect(DurationText.seconds(DurationText.text(seconds)) == seconds)
    }

    @Test(
        arguments: [
            (0, "0 µs"), (0.000_001_5, "2 µs"), (0.000_999_4, "999 µs"), (0.000_999_6, "1 ms"),
            (0.0042, "4 ms"),
            (0.9996, "1 s"), (1.256, "1.26 s"), (90, "90 s"), (-1, nil), (1e6, nil), (.infinity, nil),
            (.nan, nil),
        ] as [(Double, String?)])
    func shortDurations(_ seconds: Double, _ text: String?) {
        #expect(DurationText.short(seconds) == text)
    }

    @Test(arguments: [
        "", "0", "0s", "0h0m", "s", "h", "-1", "+1", "1 s", " 1", "1d", "1ms", "30m1h", "1m1m", "1s1",
        "1h30",
        ".", "1.", ".5", "1.2.3", "1e3", "0x10", "inf", "nan", "٣", "8785h",
        "99999999999999999999999999h",
        String(repeating: "9", count: 400),
    ])
    func whatIsNoDuration(_ text: String) {
        #expect(DurationText.seconds(text) == nil)
    }

    /// Long values start shortly before the first difference, and end after the last one if it isn't far.
    @Test func longValuesThatDiffer() {
        let dark = #"{"fontSize":12,"language":"en","newsletter":true,"theme":"dark"}"#
        let light = dark.replacing("dark", with: "light")
        func texts(_ old: String, _ new: String) -> [String] {
            let values = [old, new].map { StoredValue(.text(Array($0.utf8))) }
            let texts = StoredText.text(of: values[0], values[1], width: 24)
            return [texts.old, texts.new]
        }
        #expect(texts(dark, light) == [#"…eme":"dark"}'"#, #"…eme":"light"}'"#])
        let both = texts(dark, light.replacing("en\"", with: "de\""))
        #expect(both[0].contains("en") && both[0].contains("dark"))
        #expect(both[1].contains("de") && both[1].contains("light"))
        let far = texts(
            "a" + String(repeating: "-", count: 300) + "b", "c" + String(repeating: "-", count: 300))
        #expect(far.allSatisfy { $0.count <= 24 })
    }
}

@Suite struct TextExcerptTests {
    private static func lines(_ range: ClosedRange<Int>) -> String {
        range.map { "line \($0)" }.joined(separator: "\n")
    }

    @Test func aTextThatFitsIsNotCut() {
        #expect(TextExcerpt(of: "", rows: 3) == nil)
        #expect(TextExcerpt(of: Self.lines(1...12), rows: 12) == nil)
        #expect(TextExcerpt(of: String(repeating: "x", count: 12 * 80), rows: 12) == nil)
    }

    @Test func wholeLinesAreKeptAtBothEnds() throws {
        let text = Self.lines(1...100)
        let excerpt = try #require(TextExcerpt(of: text, rows: 12))
        #expect(excerpt.start == Self.lines(1...8))
        #expect(excerpt.end == Self.lines(97...100))
        #expect(excerpt.omittedBytes == Self.lines(9...96).utf8.count)
    }

    @Test func theEndOfALongLineIsKept() throws {
        let excerpt = try #require(
            TextExcerpt(of: "(\"" + String(repeating: "é", count: 2000) + "\") is not 7", rows: 3))
        #expect(excerpt.start == "(\"" + String(repeating: "é", count: 158) + "…")
        #expect(excerpt.end.hasPrefix("…é") && excerpt.end.hasSuffix("é\") is not 7"))
        #expect(excerpt.start.count == 161 && excerpt.end.count == 81)
        #expect(excerpt.omittedBytes == 2 * (2000 - 158 - 69))
    }

    @Test(arguments: [
        ("abcdefghi", 9, "abcdefghi"), ("abcdefghij", 9, "abcdef…hij"),
        // A character isn't divided.
        ("ééééé", 9, "ééé…é"), ("👍👍👍", 9, "👍…"),
    ])
    func bytes(_ text: String, _ limit: Int, _ expected: String) {
        #expect(text.abridged(toBytes: limit) == expected)
    }

    @Test(arguments: [
        ("abcdefghi", 9, "abcdefghi"), ("abcdefghij", 9, "abcde…hij"), ("漢字漢字漢字", 9, "漢字…字"),
        ("abc", 1, "…"), ("abc", 0, ""),
    ])
    func columns(_ text: String, _ limit: Int, _ expected: String) {
        #expect(TextWidth.abridged(text, to: limit) == expected)
    }
}

@Suite struct TextTailTests {
    private func end(of text: String, _ lines: Int, _ bytes: Int = .max, _ length: Int = 200)
        -> TextTail?
    {
        TextTail(of: Array(text.utf8), lines: lines, maximumBytes: bytes, maximumLength: length)
    }

    @Test(arguments: [
        ("a\nb\nc\n", 2, ["b", "c"], 1), ("a\nb\nc", 2, ["b", "c"], 1), ("a", 5, ["a"], 0),
        ("a\n\n", 5, ["a", ""], 0), ("\n", 5, [""], 0), ("\na", 5, ["", "a"], 0),
        ("a\r\nb\r\n", 1, ["b\r"], 1),
    ])
    func theLastLines(text: String, count: Int, lines: [String], earlier: Int) throws {
        let tail = try #require(end(of: text, count))
        #expect(tail.lines == lines && tail.earlierLines == earlier)
    }

    @Test func linesThatDoNotFitAreEarlierOnes() throws {
        let tail = try #require(end(of: "aaaa\nbbbb\ncccc\n", 3, 10))
        #expect(tail.lines == ["bbbb", "cccc"] && tail.earlierLines == 1)
        let long = try #require(end(of: "a\nbbbbbbbbbbbb\n", 3, 10))
        #expect(long.lines == ["bbbbbbbbbb"] && long.earlierLines == 1)
        #expect(end(of: "abcdef", 1, .max, 3)?.lines == ["abc…"])
    }

    @Test func whatIsNoText() {
        #expect(end(of: "", 1) == nil && end(of: "a\0b", 1) == nil)
        #expect(TextTail(of: [0x61, 0xFF, 0x0A], lines: 1) == nil)
    }
}

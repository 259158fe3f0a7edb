import Testing

@testable import FailureArtifactsCommands

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

    @Test func controlCharactersDoNotReachTheTerminal() {
        #expect(SafeText.line("a\u{1B}[2Jb\nc\r\n\td\u{202E}") == "a\\u{1b}[2Jb c d\\u{202e}")
        #expect(SafeText.lines("a\tb\n\u{7}\r\nc") == ["a  b", "\\u{7}", "c"])
        #expect(SafeText.cell("a\nb\tc\u{0}") == "a\\nb\\tc\\u{0}")
        #expect(SafeText.line("果物 ok") == "果物 ok")
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
        ("failed: caught error: \"x\"", "\"x\""), ("threw error \"x\"", "\"x\""),
    ])
    func essence(_ message: String, _ expected: String) {
        #expect(FailureText.essence(of: message) == expected)
    }

    @Test func wrapping() {
        #expect(
            TextWrap.lines(of: "one two  果物果物 three averyverylongword x", width: 10, indent: 2)
                == ["  one two", "  果物果物", "  three", "  averyverylongword", "  x"])
        #expect(TextWrap.lines(of: "", width: 10, indent: 2) == ["  "])
        let terminal = Memory().output(terminal: Terminal(width: 12, hasColour: false))
        #expect(
            TextWrap.message("ab\n\n one two three", indent: 2, for: terminal)
                == ["  ab", "  ", "  one two", "  three"])
        #expect(
            TextWrap.message("one two three", indent: 2, for: Memory().output()) == ["  one two three"])
    }

    @Test func codeIsBrokenAtSpacesAndNothingElseChanges() {
        let sql = "CREATE TABLE t (a TEXT DEFAULT 'two  spaces', 果物 INTEGER, c REAL)"
        let narrow = Memory().output(terminal: Terminal(width: 30, hasColour: false))
        let lines = TextWrap.code(sql, indent: 4, for: narrow)
        #expect(lines.count == 3)
        #expect(lines.allSatisfy { TextWidth.columns(of: $0) <= 30 })
        #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("      ") })
        let joined =
            ([String(lines[0].dropFirst(4))] + lines.dropFirst().map { String($0.dropFirst(6)) })
            .joined(separator: " ")
        #expect(joined == sql)
        #expect(TextWrap.code(sql, indent: 4, for: Memory().output()) == ["    " + sql])
    }
}

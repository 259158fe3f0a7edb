import Testing

@testable import FailureArtifactsAnalysis

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

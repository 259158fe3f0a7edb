import Testing

@testable import FailureArtifactsAnalysis

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

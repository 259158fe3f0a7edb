import FailureArtifactsAnalysis
import Testing

@testable import FailureArtifactsCommands

@Suite struct TextWrapTests {
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

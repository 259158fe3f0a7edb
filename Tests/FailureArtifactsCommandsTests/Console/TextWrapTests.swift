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

}

import Foundation
import Testing

@testable import FailureArtifactsBundle

/// The expressions are those that Swift Testing captures since 6.4, and the texts what 6.3 prints, unless noted.
@Suite struct ExpressionTextTests {
    private static func part(_ code: String, _ value: String) -> String {
        #"{"sourceCode":"\#(code)","value":"\#(value)"}"#
    }

    private static func condition(_ code: String, _ children: String...) -> String {
        #"{"sourceCode":"\#(code)","value":"false","children":[\#(children.joined(separator: ","))]}"#
    }

    @Test(arguments: [
        (condition("a == b", part("a", "1"), part("b", "2")), "(a → 1) == (b → 2)"),
        // Literals.
        (condition("a == 2", part("a", "1"), part("2", "2")), "(a → 1) == 2"),
        (condition("a < 2", part("a", "3.5"), part("2", "2.0")), "(a → 3.5) < (2 → 2.0)"),
        (
            condition(#"\"y\" == a"#, part(#"\"y\""#, #"\"y\""#), part("a", #"\"x\""#)),
            #""y" == (a → "x")"#
        ),
        // The same operand twice.
        (condition("a != a", part("a", "3"), part("a", "3")), "(a → 3) != (a → 3)"),
        // Calls and members. The texts of operands are also parts of other words.
        (condition("l.contains(a)", part("l", "[1]"), part("a", "3")), "(l → [1]).contains(a → 3)"),
        (condition("l.data(a)", part("l", "[1]"), part("a", "3")), "(l → [1]).data(a → 3)"),
        (condition("l.max(a: a)", part("l", "[1]"), part("a", "3")), "(l → [1]).max(a: (a → 3))"),
        (
            condition("l.isEmpty", part("l", "[1]"), part("isEmpty", "false")),
            "(l → [1]).isEmpty → false"
        ),
        // The properties of a value are not operands.
        (
            condition(
                "P(x: y) == p",
                #"{"sourceCode":"P(x: y)","value":"P(x: 1)","children":[\#(part("x", "1")),\#(part("y", "7"))]}"#,
                #"{"sourceCode":"p","value":"P(x: 2)","children":[\#(part("p", "2"))]}"#),
            "(P(x: y) → P(x: 1)) == (p → P(x: 2))"
        ),
        // The value of what is negated is wrong in 6.4.
        (
            condition("!(a == b)", condition("a == b", part("a", "1"), part("b", "1"))),
            "!((a → 1) == (b → 1))"
        ),
        // 6.4 gives the first argument of a free function the value (), and the next one the value of the first.
        (condition("f(a, of: b)", part("a", "()"), part("b", "7")), "f(a, of: b)"),
        // Values that aren't conditions.
        (part("a", "nil"), "a → nil"), (part("nil", "nil"), "nil"),
        (
            #"{"sourceCode":"p.x","value":"nil","children":[\#(part("p", "nil")),\#(part("x", "nil"))]}"#,
            "(p → nil).x → nil"
        ),
        // Nothing was evaluated.
        (#"{"sourceCode":"E.self","children":[{"sourceCode":"E"},{"sourceCode":"self"}]}"#, "E.self"),
        (
            condition("a == 1 || b", part("a == 1", "true"), #"{"sourceCode":"b"}"#),
            "(a == 1 → true) || b"
        ),
        (condition("f(g) == a", part("f(g)", "(Function)")), "f(g) == a"),
    ])
    func textOfAnExpression(_ json: String, _ text: String) throws {
        let expression = try JSONDecoder().decode(ExpressionText.self, from: Data(json.utf8))
        #expect(expression.text == text)
    }
}

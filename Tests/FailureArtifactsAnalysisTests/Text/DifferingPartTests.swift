import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsAnalysis

@Suite struct DifferingPartTests {
    private static func parts(_ old: String, _ new: String) -> [String] {
        let (first, second) = (Array(old), Array(new))
        return DifferingPart.words(from: first, to: second).map {
            String(first[$0.old]) + "→" + String(second[$0.new])
        }
    }

    @Test(arguments: [
        ("", "", []), ("same", "same", []), ("", "new", ["→new"]), ("old", "", ["old→"]),
        ("one two three four", "one 2 three four", ["two→2"]),
        ("first words and last ones", "other words and last two", ["first→other", "ones→two"]),
        (
            #"{"language":"en","newsletter":true,"theme":"dark"}"#,
            #"{"language":"de","newsletter":true,"theme":"light"}"#, ["en→de", "dark→light"]
        ),
        ("a, b, c", "x, y, c", ["a, b→x, y"]),
        ("the same beginning", "the same beginning and an end", ["→ and an end"]),
    ])
    func differingParts(_ old: String, _ new: String, _ expected: [String]) {
        #expect(Self.parts(old, new) == expected)
    }

    /// The text between the parts is the same, so the new parts in place of the old ones give the new text.
    @Test func partsGiveTheNewText() {
        var random = SplitMix(seed: 4)
        for _ in 0..<300 {
            let words = (0..<Int.random(in: 1..<60, using: &random)).map { _ in
                ["alpha", "b", "12", "{", ",", "é", "果物"].randomElement(using: &random) ?? ""
            }
            var changed = words
            for _ in 0..<Int.random(in: 0..<70, using: &random) where !changed.isEmpty {
                let place = Int.random(in: 0..<changed.count, using: &random)
                if Bool.random(using: &random) {
                    changed.remove(at: place)
                } else {
                    changed.insert("new", at: place)
                }
            }
            let (old, new) = (Array(words.joined(separator: " ")), Array(changed.joined(separator: " ")))
            var result: [Character] = []
            var end = 0
            for part in DifferingPart.words(from: old, to: new) {
                result += old[end..<part.old.lowerBound] + new[part.new]
                end = part.old.upperBound
            }
            #expect(result + old[end...] == new)
        }
    }

    /// Texts with more words than a limit aren't compared word by word.
    @Test func aLongChangedTextIsOnePart() {
        let old = (0..<5000).map { "a\($0)" }.joined(separator: " ")
        let new = (0..<5000).map { "b\($0)" }.joined(separator: " ")
        #expect(DifferingPart.words(from: Array(old), to: Array(new)).count == 1)
    }

    /// Returns two values, of which the beginning is known, as text.
    private static func text(
        _ old: String, _ new: String, limit: Int = .max, width: Int
    ) throws -> [String] {
        try withTemporaryDirectory { directory in
            let connection = try Connection(path: directory + "/values.sqlite", mode: .create)
            let statement = try connection.prepare("SELECT ?, ?")
            try statement.bind([.text(old), .text(new)])
            _ = try statement.step()
            let texts = StoredText.text(
                of: statement.storedValue(at: 0, limit: limit),
                statement.storedValue(at: 1, limit: limit),
                width: width)
            return [texts.old, texts.new]
        }
    }

    private static let dark = #"{"fontSize":12,"language":"en","newsletter":true,"theme":"dark"}"#

    @Test func allDifferencesOfALongValueAreShown() throws {
        let light = Self.dark.replacing("dark", with: "light").replacing("en\"", with: "de\"")
        #expect(
            try Self.text(Self.dark, light, width: 24) == [
                #"…"language":"en"…ue,"theme":"dark"}'"#, #"…"language":"de"…ue,"theme":"light"}'"#,
            ])
        // One difference, or a second one that fits, needs no gap.
        #expect(
            try Self.text(Self.dark, Self.dark.replacing("dark", with: "light"), width: 24) == [
                #"…eme":"dark"}'"#, #"…eme":"light"}'"#,
            ])
        #expect(
            try Self.text("12345678, 1, 2, 3", "12345678, 4, 5, 3", width: 30) == [
                "'12345678, 1, 2, 3'", "'12345678, 4, 5, 3'",
            ])
    }

    @Test func furtherDifferencesAreCounted() throws {
        let old = (0..<12).map { "key\($0): value" }.joined(separator: ", some more text, ")
        let texts = try Self.text(old, old.replacing("value", with: "other"), width: 20)
        #expect(texts[0].hasSuffix("… (332 B, 4 more differences)"), "\(texts[0])")
        #expect(texts[1].hasSuffix("… (332 B, 4 more differences)"))
        #expect(texts[1].ranges(of: "other").count == 8)
    }

    /// The end of a value that is known in part is no difference.
    @Test func cutValues() throws {
        let old = String(repeating: "0123456789 ", count: 30)
        let new = "new " + old
        #expect(
            try Self.text(old, new, limit: 256, width: 30)[1].hasPrefix("'new 0123456789 "))
        #expect(try !Self.text(old, new, limit: 256, width: 30)[0].contains("……"))
    }
}

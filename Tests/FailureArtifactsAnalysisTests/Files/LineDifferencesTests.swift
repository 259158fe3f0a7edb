import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsAnalysis

@Suite struct LineDifferencesTests {
    private func lines(_ old: String?, _ new: String?) throws -> [String] {
        let differences = LineDifferences(
            from: old.map { Array($0.utf8) }, to: new.map { Array($0.utf8) })
        return try #require(differences).lines.map { $0.kind.sign + $0.text }
    }

    @Test func theLineBeforeEachDifference() throws {
        let old = "a\nb\nc\nd\ne\n"
        #expect(try lines(old, old) == [])
        #expect(try lines(old, "a\nb\nC\nd\ne\n") == [" b", "-c", "+C"])
        #expect(try lines(old, "a\nd\ne\nf\n") == [" a", "-b", "-c", " e", "+f"])
        #expect(try lines(old, "A\nb\nc\nd\ne\n") == ["-a", "+A"])
        #expect(try lines(nil, "a\r\nb") == ["+a", "+b"])
        #expect(try lines("a\n", nil) == ["-a"])
        #expect(try lines("a\n", "a") == [])
    }

    /// The differences of random texts lead from one to the other, by another program's judgment.
    @Test func anotherProgramAgrees() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = Numbers(state: seed)
        for _ in 0..<20 {
            let old = (0..<30).map { _ in "line \(Int.random(in: 0..<12, using: &generator))" }
            var new = old
            for _ in 0..<4 {
                let place = Int.random(in: 0..<new.count, using: &generator)
                if Bool.random(using: &generator) {
                    new.remove(at: place)
                } else {
                    new.insert("line \(Int.random(in: 0..<12, using: &generator))", at: place)
                }
            }
            let texts = [old, new].map { $0.joined(separator: "\n") + "\n" }
            let mine = try lines(texts[0], texts[1]).filter { !$0.hasPrefix(" ") }
            let counted = try Program.python(
                """
                import difflib, json, sys
                old, new = json.load(open(sys.argv[1]))
                blocks = difflib.SequenceMatcher(None, old, new, False).get_matching_blocks()
                print(len(old) + len(new) - 2 * sum(block.size for block in blocks))
                """, String(decoding: try JSONEncoder().encode([old, new]), as: UTF8.self))
            // Difflib's differences aren't always the shortest ones.
            #expect(
                mine.count <= Int(counted.trimmingCharacters(in: .whitespacesAndNewlines)) ?? -1,
                "seed \(seed)")
            let (removed, added) = (mine.filter { $0.hasPrefix("-") }, mine.filter { $0.hasPrefix("+") })
            #expect(
                (old + added.map { $0.dropFirst().description }).sorted()
                    == (new + removed.map { $0.dropFirst().description }).sorted(), "seed \(seed)")
        }
    }

    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state
        }
    }

    @Test func jsonInOneLine() throws {
        let filler = String(repeating: "x", count: 100)
        let old = #"{"a":[1,{"b":"}, \"{"}],"c":""# + filler + #""}"#
        #expect(
            try lines(old, old.replacing("[1,", with: "[2,"))
                == [#" "a":["#, "-1,", "+2,"])
        // Commas and brackets in strings make no difference.
        #expect(
            try lines(old, old.replacing(#", \"{""#, with: #"!""#)) == [
                #" "b":""#, #"-},"#, #"- \"{"#, #"-""#, #"+}!""#,
            ])
    }

    @Test func aLongLineIsShownWhereItDiffers() throws {
        let filler = String(repeating: "word ", count: 200)
        let shown = try lines(filler + "old " + filler, filler + "new " + filler)
        #expect(shown.count == 2)
        #expect(shown[0].hasPrefix("-…") && shown[0].contains("old") && shown[0].hasSuffix("…"))
        #expect(shown[1].hasPrefix("+…") && shown[1].contains("new") && shown[1].count < 300)
    }

    @Test func noText() {
        #expect(LineDifferences(from: [0, 1], to: Array("a".utf8)) == nil)
        #expect(LineDifferences(from: [0xFF], to: nil) == nil)
    }

    /// Long groups are cut.
    @Test(.timeLimit(.minutes(1))) func limits() throws {
        func text(_ word: String, _ count: Int) -> [UInt8] {
            Array((0..<count).map { "\(word) \($0)\n" }.joined().utf8)
        }
        let different = try #require(LineDifferences(from: text("a", 50_000), to: text("b", 50_000)))
        #expect(different.lines.count == 200 && different.omittedLines == 99_800)
        #expect(different.lines.count(where: { $0.kind == .added }) == 100)
        let compared = try #require(LineDifferences(from: text("a", 1000), to: text("b", 1000)))
        #expect(compared.lines.count == 200 && compared.omittedLines == 1800)
        let log = try #require(LineDifferences(from: text("a", 10_000), to: text("a", 60_000)))
        #expect(log.lines.first?.text == "a 9999" && log.lines.count + log.omittedLines == 50_001)
    }
}

import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsAnalysis

@Suite struct DifferingPartTests {
    private static func parts(_ old: String, _ new: String) -> [String] {
        let (first, second) = (Array(old), Array(new))
        return DifferingPart.all(from: first, to: second).map {
            String(first[$0.old]) + "→" + String(second[$0.new])
        }
    }

    @Test(arguments: [
        ("", "", []), ("same", "same", []), ("", "new", ["→new"]), ("old", "", ["old→"]),
        ("1234", "1x34", ["2→x"]), ("abcd", "xbcy", ["a→x", "d→y"]), ("12", "12345", ["→345"]),
    ])
    func differingParts(_ old: String, _ new: String, _ expected: [String]) {
        #expect(Self.parts(old, new) == expected)
    }

    /// The text between the parts is the same, so the new parts in place of the old ones give the new text.
    @Test func partsGiveTheNewText() {
        var random = SplitMix(seed: 4)
        for _ in 0..<300 {
            let old = (0..<Int.random(in: 1..<60, using: &random)).map { _ in
                Int.random(in: 0..<5, using: &random)
            }
            var new = old
            for _ in 0..<Int.random(in: 0..<70, using: &random) where !new.isEmpty {
                let place = Int.random(in: 0..<new.count, using: &random)
                if Bool.random(using: &random) {
                    new.remove(at: place)
                } else {
                    new.insert(9, at: place)
                }
            }
            var result: [Int] = []
            var end = 0
            for part in DifferingPart.all(from: old, to: new) {
                result += old[end..<part.old.lowerBound] + new[part.new]
                end = part.old.upperBound
            }
            #expect(result + old[end...] == new)
        }
    }

    /// Sequences with more elements than a limit aren't compared one by one.
    @Test func aLongChangedSequenceIsOnePart() {
        #expect(DifferingPart.all(from: Array(0..<5000), to: Array(9000..<14000)).count == 1)
    }
}

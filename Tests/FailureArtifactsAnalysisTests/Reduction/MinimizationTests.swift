import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsAnalysis

@Suite struct MinimizationTests {
    @Test func findsExactlyTheNeededItems() {
        var numbers = SplitMix(seed: 7)
        for size in [1, 2, 3, 10, 1000, 10_000] {
            let needed = Set((0..<min(3, size)).map { _ in Int(numbers.next(below: UInt64(size))) })
            var calls = 0
            let found = minimized(Array(0..<size)) { items in
                calls += 1
                return needed.isSubset(of: items)
            }
            #expect(Set(found) == needed)
            #expect(calls <= needed.count * 15 + 1)
        }
    }

    @Test func needsNothingIfNothingIsEnough() {
        #expect(minimized([1, 2, 3]) { _ in true }.isEmpty)
        #expect(minimized([Int]()) { _ in false }.isEmpty)
    }

    /// The result was tried, even if more items can be too much.
    @Test func resultIsEnoughWhateverThePredicate() {
        for seed in 0..<200 {
            var numbers = SplitMix(seed: UInt64(seed))
            let items = Array(0..<12)
            var last = items
            _ = minimized(items) { part in
                #expect(Set(part).isSubset(of: last))
                let isEnough = numbers.next(below: 3) == 0
                if isEnough { last = part }
                return isEnough
            }
        }
    }
}

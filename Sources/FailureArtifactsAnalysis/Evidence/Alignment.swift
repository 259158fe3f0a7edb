/// Pairs the equal elements of two lists, in the order of both, by a limited number of steps.
struct Alignment {
    /// The number of comparisons that are left; without any, equal elements are paired only if they are close.
    private(set) var steps: Int
    /// The maximum distance of elements that are paired without further comparisons.
    private static let window = 64

    init(steps: Int) { self.steps = steps }

    /// Returns the pairs of indices: of the common start, of the common end, and of the longest blocks between.
    ///
    /// - `fromEnd`: true to prefer the common end, for lists that lack their first elements.
    mutating func pairs(_ a: [Int], _ b: [Int], fromEnd: Bool = false) -> [(Int, Int)] {
        if fromEnd {
            return pairs(a.reversed(), b.reversed()).reversed()
                .map { (a.count - 1 - $0.0, b.count - 1 - $0.1) }
        }
        var start = 0
        while start < min(a.count, b.count), a[start] == b[start] { start += 1 }
        var (endA, endB) = (a.count, b.count)
        while min(endA, endB) > start, a[endA - 1] == b[endB - 1] { (endA, endB) = (endA - 1, endB - 1) }
        var found = (0..<start).map { ($0, $0) }
        if start < endA, start < endB { found += blocks(a, b, start..<endA, start..<endB) }
        return found + (endA..<a.count).map { ($0, $0 - endA + endB) }
    }

    private mutating func blocks(_ a: [Int], _ b: [Int], _ rangeA: Range<Int>, _ rangeB: Range<Int>)
        -> [(
            Int, Int
        )]
    {
        var positions: [Int: [Int]] = [:]
        for index in rangeB { positions[b[index], default: []].append(index) }
        var found: [(Int, Int)] = []
        var parts = [(rangeA, rangeB)]
        while let (own, other) = parts.popLast() {
            guard let block = longestBlock(a, positions, own, other) else {
                found += closePairs(a, positions, own, other)
                continue
            }
            if block.count == 0 { continue }
            found += (0..<block.count).map { (block.a + $0, block.b + $0) }
            parts.append((own.lowerBound..<block.a, other.lowerBound..<block.b))
            parts.append(
                ((block.a + block.count)..<own.upperBound, (block.b + block.count)..<other.upperBound))
        }
        return found.sorted { $0.0 < $1.0 }
    }

    /// Returns the first one of the longest common blocks; nil if no steps are left.
    private mutating func longestBlock(
        _ a: [Int], _ positions: [Int: [Int]], _ rangeA: Range<Int>, _ rangeB: Range<Int>
    ) -> (a: Int, b: Int, count: Int)? {
        var best = (a: rangeA.lowerBound, b: rangeB.lowerBound, count: 0)
        if rangeB.isEmpty { return best }
        // The lengths of the blocks that end at an element of `a` and at elements of `b`.
        var lengths: [Int: Int] = [:]
        for i in rangeA {
            var next: [Int: Int] = [:]
            let places = positions[a[i]] ?? []
            for j in places[places.firstPlace(from: rangeB.lowerBound)...] {
                if j >= rangeB.upperBound { break }
                steps -= 1
                let length = (lengths[j - 1] ?? 0) + 1
                next[j] = length
                if length > best.count { best = (i - length + 1, j - length + 1, length) }
            }
            steps -= 1
            if steps < 0 { return nil }
            lengths = next
        }
        return best
    }

    /// Pairs each element with the next equal one, if it is close.
    private func closePairs(
        _ a: [Int], _ positions: [Int: [Int]], _ rangeA: Range<Int>, _ rangeB: Range<Int>
    ) -> [(Int, Int)] {
        var next = rangeB.lowerBound
        var found: [(Int, Int)] = []
        for i in rangeA {
            let places = positions[a[i]] ?? []
            guard let j = places[places.firstPlace(from: next)...].first, j < rangeB.upperBound,
                j < next + Self.window
            else { continue }
            found.append((i, j))
            next = j + 1
        }
        return found
    }
}

extension [Int] {
    /// The first index of a sorted list whose element is at least `least`.
    fileprivate func firstPlace(from least: Int) -> Int {
        var range = indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = self[middle] < least ? (middle + 1)..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}

/// The parts in which two texts differ, word by word.
struct TextDifferences {
    /// A part of each text, as ranges of characters; one of them may be empty.
    struct Part: Equatable {
        var old: Range<Int>
        var new: Range<Int>
    }

    /// The parts, in order; a single one if the texts differ in too many words.
    private(set) var parts: [Part] = []

    /// The maximum number of words that are removed or added.
    private static let editLimit = 100
    /// The maximum number of equal characters between two differences of one part.
    private static let gapLimit = 6

    /// Compares two texts.
    init(_ old: [Character], _ new: [Character]) {
        let (first, second) = (Self.words(of: old), Self.words(of: new))
        var start = 0
        while start < min(first.count, second.count), old[first[start]] == new[second[start]] {
            start += 1
        }
        var end = 0
        while end < min(first.count, second.count) - start,
            old[first[first.count - 1 - end]] == new[second[second.count - 1 - end]]
        {
            end += 1
        }
        let (a, b) = (
            Array(first[start..<(first.count - end)]), Array(second[start..<(second.count - end)])
        )
        guard !a.isEmpty || !b.isEmpty else { return }
        var numbers: [ArraySlice<Character>: Int] = [:]
        func number(_ word: ArraySlice<Character>) -> Int {
            if let known = numbers[word] { return known }
            numbers[word] = numbers.count
            return numbers.count - 1
        }
        let changes = Self.changes(a.map { number(old[$0]) }, b.map { number(new[$0]) })
        for (x, y) in changes {
            add(
                Part(
                    old: Self.characters(
                        x.lowerBound + start..<x.upperBound + start, of: first, old.count),
                    new: Self.characters(
                        y.lowerBound + start..<y.upperBound + start, of: second, new.count)))
        }
    }

    private mutating func add(_ part: Part) {
        if let last = parts.last, part.old.lowerBound - last.old.upperBound <= Self.gapLimit {
            parts[parts.count - 1].old = last.old.lowerBound..<part.old.upperBound
            parts[parts.count - 1].new = last.new.lowerBound..<part.new.upperBound
        } else {
            parts.append(part)
        }
    }

    /// Returns the places of the words, each of which is a run of letters and digits or another character.
    private static func words(of text: [Character]) -> [Range<Int>] {
        var words: [Range<Int>] = []
        var isInWord = false
        for (index, character) in text.enumerated() {
            let isPart = character.isLetter || character.isNumber
            if isPart, isInWord {
                words[words.count - 1] = words[words.count - 1].lowerBound..<index + 1
            } else {
                words.append(index..<index + 1)
            }
            isInWord = isPart
        }
        return words
    }

    private static func characters(_ range: Range<Int>, of words: [Range<Int>], _ count: Int) -> Range<
        Int
    > {
        let start = range.lowerBound < words.count ? words[range.lowerBound].lowerBound : count
        return start..<(range.isEmpty ? start : words[range.upperBound - 1].upperBound)
    }

    /// Returns the ranges of a shortest sequence of changes (Myers, "An O(ND) Difference Algorithm", 1986).
    ///
    /// If it is longer than ``editLimit``, everything is one change.
    private static func changes(_ old: [Int], _ new: [Int]) -> [(Range<Int>, Range<Int>)] {
        let whole = [(0..<old.count, 0..<new.count)]
        let limit = min(editLimit, old.count + new.count)
        // The furthest place in `old` on each diagonal, which are numbered from -limit.
        var furthest = Array(repeating: 0, count: 2 * limit + 3)
        var trace: [[Int]] = []
        for edits in 0...limit {
            trace.append(furthest)
            for diagonal in stride(from: -edits, through: edits, by: 2) {
                let index = diagonal + limit + 1
                let isDown =
                    diagonal == -edits || diagonal != edits && furthest[index - 1] < furthest[index + 1]
                var x = isDown ? furthest[index + 1] : furthest[index - 1] + 1
                while x < old.count, x - diagonal < new.count, x - diagonal >= 0,
                    old[x] == new[x - diagonal]
                {
                    x += 1
                }
                furthest[index] = x
                if x >= old.count, x - diagonal >= new.count {
                    return path(to: (old.count, new.count), trace, limit)
                }
            }
        }
        return whole
    }

    /// Follows the shortest sequence back from the end.
    private static func path(
        to end: (Int, Int), _ trace: [[Int]], _ limit: Int
    ) -> [(Range<Int>, Range<Int>)] {
        var (x, y) = end
        var changes: [(Range<Int>, Range<Int>)] = []
        for (edits, furthest) in trace.enumerated().reversed() where edits > 0 {
            let diagonal = x - y
            let index = diagonal + limit + 1
            let isDown =
                diagonal == -edits || diagonal != edits && furthest[index - 1] < furthest[index + 1]
            let previous = isDown ? diagonal + 1 : diagonal - 1
            let fromX = furthest[previous + limit + 1]
            let fromY = fromX - previous
            let change = isDown ? (fromX..<fromX, fromY..<fromY + 1) : (fromX..<fromX + 1, fromY..<fromY)
            if let next = changes.last, change.0.upperBound == next.0.lowerBound,
                change.1.upperBound == next.1.lowerBound
            {
                changes[changes.count - 1] = (
                    change.0.lowerBound..<next.0.upperBound, change.1.lowerBound..<next.1.upperBound
                )
            } else {
                changes.append(change)
            }
            (x, y) = (fromX, fromY)
        }
        return changes.reversed()
    }
}

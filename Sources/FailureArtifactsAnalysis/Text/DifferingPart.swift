/// A part in which two sequences differ: a range of each, of which one may be empty.
struct DifferingPart: Equatable {
    var old: Range<Int>
    var new: Range<Int>

    /// The maximum number of elements that are compared, without equal ones at the beginning and the end.
    private static let maximumCompared = 1000
    /// The maximum number of equal characters between two differences of one part.
    private static let maximumGap = 6

    /// Returns the parts in which two sequences differ, in order; a single one if they are too long.
    static func all<Element: Equatable>(from old: [Element], to new: [Element]) -> [DifferingPart] {
        var (start, oldEnd, newEnd) = (0, old.count, new.count)
        while start < min(oldEnd, newEnd), old[start] == new[start] { start += 1 }
        while min(oldEnd, newEnd) > start, old[oldEnd - 1] == new[newEnd - 1] {
            (oldEnd, newEnd) = (oldEnd - 1, newEnd - 1)
        }
        let whole = DifferingPart(old: start..<oldEnd, new: start..<newEnd)
        if whole.old.isEmpty || whole.new.isEmpty || max(oldEnd, newEnd) - start > maximumCompared {
            return whole.old.isEmpty && whole.new.isEmpty ? [] : [whole]
        }
        var (removed, inserted): (Set<Int>, Set<Int>) = ([], [])
        for change in new[whole.new].difference(from: old[whole.old]) {
            switch change {
            case .remove(let offset, _, _): removed.insert(start + offset)
            case .insert(let offset, _, _): inserted.insert(start + offset)
            }
        }
        var parts: [DifferingPart] = []
        var (i, j) = (start, start)
        while i < oldEnd || j < newEnd {
            let (from, to) = (i, j)
            while removed.contains(i) { i += 1 }
            while inserted.contains(j) { j += 1 }
            if i > from || j > to {
                parts.append(DifferingPart(old: from..<i, new: to..<j))
            } else {
                (i, j) = (i + 1, j + 1)
            }
        }
        return parts
    }

    /// Returns the parts in which two texts differ, word by word, as ranges of characters.
    ///
    /// Words are runs of letters and digits, and other characters. Parts that are close to each other are joined.
    static func words(from old: [Character], to new: [Character]) -> [DifferingPart] {
        let (first, second) = (words(of: old), words(of: new))
        var parts: [DifferingPart] = []
        for part in all(from: first, to: second) {
            let next = DifferingPart(
                old: characters(part.old, of: first), new: characters(part.new, of: second))
            if let last = parts.last, next.old.lowerBound - last.old.upperBound <= maximumGap {
                parts[parts.count - 1] = DifferingPart(
                    old: last.old.lowerBound..<next.old.upperBound,
                    new: last.new.lowerBound..<next.new.upperBound)
            } else {
                parts.append(next)
            }
        }
        return parts
    }

    private static func words(of text: [Character]) -> [ArraySlice<Character>] {
        var words: [ArraySlice<Character>] = []
        var start = 0
        for end in text.indices.map({ $0 + 1 }) {
            func isLetter(_ index: Int) -> Bool { text[index].isLetter || text[index].isNumber }
            if end < text.count, isLetter(end - 1), isLetter(end) { continue }
            words.append(text[start..<end])
            start = end
        }
        return words
    }

    /// Returns the range of the characters of some words.
    private static func characters(
        _ range: Range<Int>, of words: [ArraySlice<Character>]
    ) -> Range<Int> {
        let end = words.last?.endIndex ?? 0
        let start = range.lowerBound < words.count ? words[range.lowerBound].startIndex : end
        return start..<(range.isEmpty ? start : words[range.upperBound - 1].endIndex)
    }
}

/// A text that is shown beside another one, with marks around the parts that differ.
package struct MarkedText: Equatable, Sendable {
    package struct Part: Equatable, Sendable {
        package var text: String
        package var isMarked = false
    }

    /// The limits of the words around a marked part, of the columns of a part, and of the parts.
    private static let (context, maximumColumns, maximumParts) = (12, 200, 40)

    /// The parts, which are safe to print.
    package let parts: [Part]

    /// The text, with `«` and `»` as marks.
    package var text: String { parts.map { $0.isMarked ? "«\($0.text)»" : $0.text }.joined() }

    /// Joins adjacent parts of the same kind, and leaves out what is far from a mark.
    init(_ parts: [Part]) {
        var joined: [Part] = []
        for part in parts where !part.text.isEmpty {
            if let last = joined.last, last.isMarked == part.isMarked {
                joined[joined.count - 1].text += part.text
            } else {
                joined.append(part)
            }
        }
        let rest = joined.count > Self.maximumParts ? [Part(text: " …")] : []
        joined = Array(joined.prefix(Self.maximumParts))
        let last = joined.count - 1
        self.parts =
            joined.enumerated().map { index, part in
                let text = SafeText.line(part.text)
                let short =
                    part.isMarked || last == 0
                    ? text : Self.context(text, isFirst: index == 0, isLast: index == last)
                return Part(
                    text: TextWidth.abridged(short, to: Self.maximumColumns), isMarked: part.isMarked)
            } + rest
    }

    init(_ text: String, isMarked: Bool = false) {
        self.init([Part(text: text, isMarked: isMarked)])
    }

    /// Returns the words beside marked parts.
    private static func context(_ text: String, isFirst: Bool, isLast: Bool) -> String {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        let (before, after) = (isFirst ? 0 : context, isLast ? 0 : context)
        // The ellipsis and the space at a mark are no words.
        guard words.count > before + after + 2 else { return text }
        let start = words.prefix(isFirst ? 0 : before + 1)
        return (start + ["…"] + words.suffix(isLast ? 0 : after + 1)).joined(separator: " ")
    }

    /// The number of steps for comparing two texts.
    private static let steps = 10_000

    /// Returns two texts, with marks around the words that differ.
    static func pair(_ then: String, _ now: String) -> (then: MarkedText, now: MarkedText) {
        let (x, y) = (then.split(separator: " "), now.split(separator: " "))
        var numbers: [Substring: Int] = [:]
        func number(_ word: Substring) -> Int {
            let number = numbers[word] ?? numbers.count
            numbers[word] = number
            return number
        }
        var alignment = Alignment(steps: steps)
        let pairs = alignment.pairs(x.map(number), y.map(number))
        func text(_ words: [Substring], _ same: Set<Int>) -> MarkedText {
            MarkedText(
                words.indices.flatMap { index in
                    let isMarked = !same.contains(index)
                    // The space between two marked words is marked, too.
                    let isBetween = isMarked && index > 0 && !same.contains(index - 1)
                    return [
                        Part(text: index > 0 ? " " : "", isMarked: isBetween),
                        Part(text: String(words[index]), isMarked: isMarked),
                    ]
                })
        }
        return (text(x, Set(pairs.map(\.0))), text(y, Set(pairs.map(\.1))))
    }
}

/// The differences between two texts, line by line.
package struct LineDifferences: Equatable, Sendable {
    /// A line of one text or of both.
    package struct Line: Equatable, Encodable, Sendable {
        package enum Kind: String, Encodable, Sendable {
            /// The line is in both texts, before a difference.
            case same
            case removed, added

            /// The sign of the line in a unified diff.
            package var sign: String {
                switch self {
                case .same: " "
                case .removed: "-"
                case .added: "+"
                }
            }
        }

        package let kind: Kind
        /// The text; a long one is cut, so that the difference is visible.
        package let text: String
    }

    /// The different lines, each group after the line before it.
    package private(set) var lines: [Line] = []
    /// The number of further different lines.
    package private(set) var omittedLines = 0

    /// The maximum number of lines that are compared, without equal lines at the beginning and the end.
    private static let maximumCompared = 1000
    /// The maximum number of different lines to keep.
    private static let maximumLines = 200
    /// The maximum length of a line, in characters.
    private static let maximumLength = 200

    /// Compares two files; nil if a content is no text in UTF-8.
    ///
    /// Property lists are compared by their keys. JSON in one long line is broken after each value.
    ///
    /// - Parameters:
    ///   - old: The old content; nil for a file that didn't exist.
    ///   - new: The new content; nil for a file that doesn't exist.
    package init?(from old: [UInt8]?, to new: [UInt8]?) {
        guard let first = Self.lines(of: old), let second = Self.lines(of: new) else { return nil }
        var (start, firstEnd, secondEnd) = (0, first.count, second.count)
        while start < min(firstEnd, secondEnd), first[start] == second[start] { start += 1 }
        while firstEnd > start, secondEnd > start, first[firstEnd - 1] == second[secondEnd - 1] {
            firstEnd -= 1
            secondEnd -= 1
        }
        let (removed, added) = (first[start..<firstEnd], second[start..<secondEnd])
        guard
            removed.isEmpty || added.isEmpty
                || max(removed.count, added.count) <= Self.maximumCompared
        else {
            omittedLines = removed.count + added.count
            return
        }
        add(from: removed, to: added, after: start > 0 ? first[start - 1] : nil)
    }

    private mutating func add(
        from old: ArraySlice<String>, to new: ArraySlice<String>, after context: String?
    ) {
        var removals: Set<Int> = []
        var insertions: Set<Int> = []
        if old.isEmpty {
            insertions = Set(new.indices)
        } else if new.isEmpty {
            removals = Set(old.indices)
        } else {
            for change in new.difference(from: old) {
                switch change {
                case .remove(let offset, _, _): removals.insert(old.startIndex + offset)
                case .insert(let offset, _, _): insertions.insert(new.startIndex + offset)
                }
            }
        }
        var (i, j) = (old.startIndex, new.startIndex)
        var last = context
        while i < old.endIndex || j < new.endIndex {
            let (from, to) = (i, j)
            while i < old.endIndex, removals.contains(i) { i += 1 }
            while j < new.endIndex, insertions.contains(j) { j += 1 }
            if i > from || j > to {
                addGroup(removing: Array(old[from..<i]), adding: Array(new[to..<j]), after: last)
            } else {
                last = old[i]
                i += 1
                j += 1
            }
        }
    }

    private mutating func addGroup(removing old: [String], adding new: [String], after context: String?)
    {
        let room = Self.maximumLines - lines.count
        guard room > 1 else {
            omittedLines += old.count + new.count
            return
        }
        if let context { lines.append(Line(kind: .same, text: Self.cut(context, from: 0))) }
        var group: [Line] = []
        let starts = zip(old, new).map { Self.start(of: $0, $1) }
        for (kind, texts) in [(Line.Kind.removed, old), (.added, new)] {
            for (index, text) in texts.enumerated() {
                let start = index < starts.count ? starts[index] : 0
                group.append(Line(kind: kind, text: Self.cut(text, from: start)))
            }
        }
        lines += group.prefix(room)
        omittedLines += max(0, group.count - room)
    }

    /// Returns the place from which two long lines are shown, shortly before their first difference.
    private static func start(of old: String, _ new: String) -> Int {
        guard max(old.utf8.count, new.utf8.count) > maximumLength else { return 0 }
        let same = zip(old, new).prefix { $0 == $1 }.count
        return same > maximumLength / 2 ? same - maximumLength / 4 : 0
    }

    private static func cut(_ text: String, from start: Int) -> String {
        if start == 0, text.utf8.count <= maximumLength { return text }
        let rest = text.dropFirst(start)
        return (start > 0 ? "…" : "") + rest.prefix(maximumLength)
            + (rest.count > maximumLength ? "…" : "")
    }

    // MARK: Lines of a file

    private static func lines(of content: [UInt8]?) -> [String]? {
        guard let content, !content.isEmpty else { return [] }
        if let lines = PropertyList.lines(of: content) { return lines }
        guard !content.contains(0), let text = StoredText.valid(content, isCut: false) else {
            return nil
        }
        var lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }.map(String.init)
        if lines.last == "" { lines.removeLast() }
        if lines.count == 1, lines[0].utf8.count > maximumLength / 2 { return brokenJSON(lines[0]) }
        return lines
    }

    /// Breaks a line of JSON after its commas, and after and before its brackets; another line stays as it is.
    private static func brokenJSON(_ line: String) -> [String] {
        guard let first = line.utf8.first, [UInt8(ascii: "{"), UInt8(ascii: "[")].contains(first) else {
            return [line]
        }
        var lines: [String] = []
        var current: [UInt8] = []
        func end() {
            if !current.isEmpty { lines.append(String(decoding: current, as: UTF8.self)) }
            current = []
        }
        var (isQuoted, isEscaped) = (false, false)
        for byte in line.utf8 {
            if isQuoted {
                current.append(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isQuoted = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ","):
                current.append(byte)
                end()
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                end()
                current.append(byte)
            default:
                isQuoted = byte == UInt8(ascii: "\"")
                current.append(byte)
            }
        }
        end()
        return lines
    }
}

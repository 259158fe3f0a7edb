internal import FailureArtifactsBundle

/// Values of the assertion's message in lines of watched files that changed.
enum ChangedFileValues {
    /// The maximum number of findings.
    private static let maximumCount = 3
    /// The number of characters that a line and the one in its place have in common at their beginning, at least.
    private static let minimumBeginning = 4

    static func findings(of failure: FailureEvidence) -> [Finding] {
        guard !failure.message.differing.isEmpty else { return [] }
        let found = failure.files.flatMap { tree in
            tree.files.compactMap { finding(about: $0, in: tree.watched.name, failure.message) }
        }
        return found.sorted { $0.strength > $1.strength }.prefix(maximumCount).map(\.finding)
    }

    /// Returns the change that has the most significant values.
    private static func finding(
        about file: ChangedFile, in watched: String, _ message: FailureMessage
    ) -> (finding: Finding, strength: Int)? {
        var best: (finding: Finding, strength: Int)?
        for pair in pairs(of: file.differences?.lines ?? []) {
            func has(_ line: String?, _ value: FailureMessage.Value) -> Bool {
                guard let line, value.text != "nil", !value.text.isEmpty else { return false }
                return contains(line, value.text)
            }
            let match = ValueMatch(message, old: { has(pair.old, $0) }, new: { has(pair.new, $0) })
            guard let match, let strength = match.strength, strength > best?.strength ?? 0 else {
                continue
            }
            let names = match.texts.map { "'\(SafeText.line(String($0.prefix(40))))'" }
            let finding = Finding(
                code: .changedFile, title: "\(file.change.path): " + title(pair.old, pair.new),
                confidence: match.isBoth ? .likely : .possible,
                explanation:
                    "The message names \(Set(names).sorted().joined(separator: " and ")), and this line of a file "
                    + "in '\(watched)' changed during the test.", evidence: .change)
            best = (finding, strength)
        }
        return best
    }

    /// Pairs removed lines with the added lines of their group that begin like them.
    private static func pairs(of lines: [LineDifferences.Line]) -> [(old: String?, new: String?)] {
        var pairs: [(old: String?, new: String?)] = []
        var (removed, added): ([String], [String]) = ([], [])
        func end() {
            let isSingle = removed.count == 1 && added.count == 1
            for new in added {
                let same = removed.map { old in zip(old, new).prefix { $0 == $1 }.count }
                let best = same.indices.max { same[$0] < same[$1] }
                if let best, isSingle || same[best] >= minimumBeginning {
                    pairs.append((removed.remove(at: best), new))
                } else {
                    pairs.append((nil, new))
                }
            }
            pairs += removed.map { ($0, nil) }
            (removed, added) = ([], [])
        }
        for line in lines {
            switch line.kind {
            case .same: end()
            case .removed:
                if !added.isEmpty { end() }
                removed.append(line.text)
            case .added: added.append(line.text)
            }
        }
        end()
        return pairs
    }

    private static func title(_ old: String?, _ new: String?) -> String {
        func short(_ line: String) -> String {
            TextWidth.shortened(SafeText.line(line.trimmed), to: 80)
        }
        return switch (old, new) {
        case (let old?, let new?): "\(short(old)) became \(short(new))"
        case (let old?, nil): "\(short(old)) was removed"
        case (nil, let new?): "\(short(new)) was added"
        case (nil, nil): ""
        }
    }

    /// Returns true if a line contains a value that is not part of a longer word or number.
    private static func contains(_ line: String, _ value: String) -> Bool {
        var rest = line[...]
        while let range = rest.firstRange(of: value) {
            let before =
                range.lowerBound > line.startIndex ? line[line.index(before: range.lowerBound)] : " "
            let after = range.upperBound < line.endIndex ? line[range.upperBound] : " "
            if !isPart(before) && !isPart(after) { return true }
            rest = line[line.index(after: range.lowerBound)...]
        }
        return false
    }

    private static func isPart(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_"
    }
}

extension String {
    /// The text without white space at its ends and without the comma at the end of a line of JSON.
    fileprivate var trimmed: String {
        var text = self[...]
        while let last = text.last, last.isWhitespace || last == "," { text.removeLast() }
        return String(text.drop(while: \.isWhitespace))
    }
}

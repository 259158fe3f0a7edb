package import FailureArtifactsBundle
package import FailureArtifactsReading

/// The changes of a watched directory or of a suite of UserDefaults.
package struct FileTree: Equatable, Sendable {
    package let watched: BundleMetadata.WatchedFiles
    /// The changed files, sorted by their paths.
    package let files: [ChangedFile]

    /// The maximum number of files that are read, and the maximum sizes of one and of all, in bytes.
    private static let maximumCount = 50
    private static let maximumBytes: UInt64 = 4 << 20
    private static let maximumTotal: UInt64 = 16 << 20

    /// Reads the watched files of a bundle.
    ///
    /// Only the first files have differences.
    package static func all(in bundle: BundleReader) -> [FileTree] {
        var left = maximumTotal
        var count = 0
        return (bundle.metadata.files ?? []).map { watched in
            let files = watched.changes.map { change in
                let size = change.entries.reduce(UInt64(0)) { $0 &+ (bundle.size(ofEntry: $1) ?? 0) }
                guard count < maximumCount, size <= min(left, 2 * maximumBytes),
                    !change.entries.isEmpty
                else { return ChangedFile(change: change, differences: nil) }
                count += 1
                left -= size
                return ChangedFile(change: change, differences: differences(of: change, in: bundle))
            }
            return FileTree(watched: watched, files: files)
        }
    }

    private static func differences(
        of change: BundleMetadata.FileChange, in bundle: BundleReader
    ) -> LineDifferences? {
        func content(_ name: String?) -> [UInt8]? {
            guard let name, let entry = bundle.archive.entry(named: name) else { return nil }
            return try? bundle.archive.contents(of: entry, limit: Int(maximumBytes))
        }
        let (old, new) = (content(change.earlierEntry), content(change.entry))
        // Without one of the contents, all lines of the other would seem to be new or gone.
        guard (old != nil) == (change.change != .added), (new != nil) == (change.change != .deleted)
        else {
            return nil
        }
        return LineDifferences(from: old, to: new)
    }

    /// The number of changes, including those that the bundle doesn't list.
    package var count: Int {
        // The number may be anything in a bundle of unknown origin.
        files.count + min(max(0, watched.omittedChanges ?? 0), 1 << 40)
    }

    /// The number of changes as a phrase.
    package var summary: String {
        count == 0
            ? "none of \(Counted.items(Int64(watched.count), "file")) changed"
            : Counted.items(Int64(count), "change")
    }
}

extension FileTree: Encodable {
    private enum CodingKeys: String, CodingKey {
        case name, originalPath, count, changes, omittedChanges
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(watched.name, forKey: .name)
        try container.encodeIfPresent(watched.originalPath, forKey: .originalPath)
        try container.encode(watched.count, forKey: .count)
        try container.encode(files, forKey: .changes)
        try container.encodeIfPresent(watched.omittedChanges, forKey: .omittedChanges)
    }
}

/// A watched file that changed during the test.
package struct ChangedFile: Equatable, Sendable {
    package let change: BundleMetadata.FileChange
    /// The differences; nil if the content is no text, is not in the bundle or was not read.
    package let differences: LineDifferences?

    /// The sizes, such as `12 → 14 bytes`, and the reason if content is missing.
    package var facts: String {
        let sizes =
            switch (change.earlierBytes, change.bytes) {
            case (let old?, let new?) where old != new: "\(Counted.bytes(old)) → \(Counted.bytes(new))"
            case (_, let size?), (let size?, nil): Counted.bytes(size)
            case (nil, nil): ""
            }
        return [sizes, change.reason ?? ""].filter { !$0.isEmpty }.joined(separator: ". ")
    }

    /// The name of the directory with the file; empty for the watched directory itself.
    package var folder: String {
        change.path.lastIndex(of: "/").map { String(change.path[..<$0]) } ?? ""
    }

    /// The file's name.
    package var name: String { change.path.split(separator: "/").last.map(String.init) ?? change.path }
}

extension ChangedFile: Encodable {
    private enum CodingKeys: String, CodingKey {
        case path, change, bytes, earlierBytes, reason, lines, omittedLines
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(change.path, forKey: .path)
        try container.encode(change.change, forKey: .change)
        try container.encodeIfPresent(change.bytes, forKey: .bytes)
        try container.encodeIfPresent(change.earlierBytes, forKey: .earlierBytes)
        try container.encodeIfPresent(change.reason, forKey: .reason)
        guard let differences else { return }
        try container.encode(differences.lines, forKey: .lines)
        if differences.omittedLines > 0 {
            try container.encode(differences.omittedLines, forKey: .omittedLines)
        }
    }
}

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

    /// The maximum number of different lines to keep.
    private static let maximumLines = 200
    /// The maximum length of a line, in characters.
    private static let maximumLength = 200

    /// Compares two files; nil if a content is no text in UTF-8.
    ///
    /// JSON in one long line is broken after each value.
    ///
    /// - `old`: the old content; nil for a file that didn't exist.
    /// - `new`: the new content; nil for a file that doesn't exist.
    package init?(from old: [UInt8]?, to new: [UInt8]?) {
        guard let old = Self.lines(of: old), let new = Self.lines(of: new) else { return nil }
        for part in DifferingPart.all(from: old, to: new) {
            let (removed, added) = (old[part.old], new[part.new])
            let room = Self.maximumLines - lines.count
            guard room > 1 else {
                omittedLines += removed.count + added.count
                continue
            }
            if part.old.lowerBound > 0 {
                lines.append(Line(kind: .same, text: Self.cut(old[part.old.lowerBound - 1], from: 0)))
            }
            let starts = zip(removed, added).map(Self.start)
            func group(_ kind: Line.Kind, _ texts: ArraySlice<String>) -> [Line] {
                texts.enumerated().map { index, text in
                    let start = index < starts.count ? starts[index] : 0
                    return Line(kind: kind, text: Self.cut(text, from: start))
                }
            }
            // If there isn't room for all, both get half of it at least.
            let removals = group(.removed, removed.prefix(max(room / 2, room - added.count)))
            lines += removals + group(.added, added.prefix(room - removals.count))
            omittedLines += max(0, removed.count + added.count - room)
        }
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
        guard !content.contains(0), let text = StoredText.valid(content, isCut: false) else {
            return nil
        }
        var lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }.map(String.init)
        if lines.last == "" { lines.removeLast() }
        if lines.count == 1, lines[0].utf8.count > maximumLength / 2 { return brokenJSON(lines[0]) }
        return lines
    }

    /// Breaks a line of JSON after its commas and around its brackets; another line stays as it is.
    ///
    /// Commas and brackets in strings make no difference, since the parts are only compared.
    private static func brokenJSON(_ line: String) -> [String] {
        guard line.hasPrefix("{") || line.hasPrefix("[") else { return [line] }
        var lines: [[UInt8]] = [[]]
        for byte in line.utf8 {
            if "}]".utf8.contains(byte) { lines.append([]) }
            lines[lines.count - 1].append(byte)
            if "{[,".utf8.contains(byte) { lines.append([]) }
        }
        return lines.filter { !$0.isEmpty }.map { String(decoding: $0, as: UTF8.self) }
    }
}

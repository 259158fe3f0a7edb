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
    /// - Parameter bundle: The bundle.
    /// - Returns: A tree for each watched directory, with all changes that the bundle lists. Only the first files have
    ///   differences.
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

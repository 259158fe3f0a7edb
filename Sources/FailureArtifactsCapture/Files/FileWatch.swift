internal import FailureArtifactsBundle
internal import FailureArtifactsSystem
internal import Foundation

/// Files that a test watches, as they were when it began to.
struct FileWatch: Sendable {
    /// The name that the user knows: the directory's, or the suite's of UserDefaults.
    let name: String
    /// The directory or the file; nil for a suite of UserDefaults.
    let path: String?
    private let start: FileListing

    /// The time limit of a listing, in seconds.
    private static let timeLimit = 2.0
    /// The time before a listing in which a file may change without a new time stamp, in nanoseconds.
    ///
    /// Some file systems count two seconds.
    private static let timeStampPrecision: Int64 = 2_000_000_000

    /// Begins to watch a directory or a single file.
    init(path: String, name: String, leavingOut excluded: String) {
        (self.path, self.name) = (path, name)
        start = Self.files(at: path, leavingOut: excluded, keepsContent: true)
    }

    /// Begins to watch a suite of UserDefaults.
    init(userDefaultsSuite name: String) {
        path = nil
        self.name = name
        start = Self.propertyList(ofSuite: name)
    }

    private static func files(
        at path: String, leavingOut excluded: String, keepsContent: Bool
    ) -> FileListing {
        FileListing(
            below: path, leavingOut: excluded, keepsContent: keepsContent,
            until: Instant.now.advanced(bySeconds: timeLimit))
    }

    private static func propertyList(ofSuite name: String) -> FileListing {
        let values = UserDefaults.standard.persistentDomain(forName: name) ?? [:]
        let list =
            values.isEmpty
            ? nil
            : try? PropertyListSerialization.data(fromPropertyList: values, format: .xml, options: 0)
        return FileListing(propertyList: list.map(Array.init), named: name + ".plist")
    }

    /// The differences between the start and now.
    struct Changes {
        /// A changed file.
        struct Change {
            var description: BundleMetadata.FileChange
            /// The content at the start and now; nil if it was not kept or is read later.
            var earlierContent, content: [UInt8]?
        }

        /// The changes, sorted by their paths.
        var changes: [Change] = []
        /// The number of files now.
        var count = 0
        /// True if all files were compared.
        var isComplete = true
    }

    /// Returns the changes since the start.
    ///
    /// A file is unchanged if its content is the same, or if its attributes are, except for one that was written shortly
    /// before the start.
    func changes(leavingOut excluded: String) -> Changes {
        let now =
            path.map { Self.files(at: $0, leavingOut: excluded, keepsContent: false) }
            ?? Self.propertyList(ofSuite: name)
        var result = Changes(count: now.items.count, isComplete: start.isComplete && now.isComplete)
        for (path, item) in now.items {
            guard let earlier = start.items[path] else {
                // A listing that was cut doesn't tell which files were there.
                if start.isComplete { result.add(path, .added, nil, item) }
                continue
            }
            if isChanged(earlier, item, at: path) { result.add(path, .modified, earlier, item) }
        }
        if now.isComplete {
            for (path, item) in start.items where now.items[path] == nil {
                result.add(path, .deleted, item, nil)
            }
        }
        result.changes.sort { $0.description.path < $1.description.path }
        return result
    }

    private func isChanged(_ earlier: FileListing.Item, _ now: FileListing.Item, at name: String) -> Bool
    {
        guard let path, let old = earlier.status, let new = now.status else {
            return earlier.content != now.content
        }
        let isOld = old.modified < start.date - Self.timeStampPrecision
        if old == new, isOld || earlier.content == nil { return false }
        guard let content = earlier.content, old.size == new.size else { return true }
        return (try? WatchedContent.read(file(name, below: path), limit: new.size)) != .some(content)
    }

    /// Returns the path of a listed file; nil for a suite of UserDefaults.
    func file(_ name: String) -> String? { path.map { file(name, below: $0) } }

    private func file(_ name: String, below path: String) -> String {
        FileSystem.regularFile(path) != nil ? path : Path.join(path, name)
    }
}

extension FileWatch.Changes {
    fileprivate mutating func add(
        _ path: String, _ kind: BundleMetadata.FileChange.Kind, _ earlier: FileListing.Item?,
        _ now: FileListing.Item?
    ) {
        changes.append(
            Change(
                description: BundleMetadata.FileChange(
                    path: path, change: kind, bytes: now?.size, earlierBytes: earlier?.size),
                earlierContent: earlier?.content, content: now?.content))
    }
}

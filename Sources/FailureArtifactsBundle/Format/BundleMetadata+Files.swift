extension BundleMetadata {
    /// The changes of files that the test watched, from the call of `CurrentTest.watch` to the first failure.
    package struct WatchedFiles: Codable, Equatable, Sendable {
        /// The name of the files' folder below `files/`.
        package var name: String
        /// The directory or file that was watched; absent for a suite of UserDefaults.
        package var originalPath: String?
        /// The number of files at the failure.
        package var count: Int
        /// The changes, sorted by their paths.
        package var changes: [FileChange]
        /// The number of further changes, which are not listed; absent if all are.
        package var omittedChanges: Int?

        package init(
            name: String, originalPath: String?, count: Int, changes: [FileChange],
            omittedChanges: Int? = nil
        ) {
            self.name = name
            self.originalPath = originalPath
            self.count = count
            self.changes = changes
            self.omittedChanges = omittedChanges
        }
    }

    /// Changes the descriptions of all changed files.
    package mutating func mapFileChanges<Failure>(
        _ transform: (inout FileChange) throws(Failure) -> Void
    ) throws(Failure) {
        guard var all = files else { return }
        for index in all.indices {
            for change in all[index].changes.indices { try transform(&all[index].changes[change]) }
        }
        files = all
    }

    /// The change of a watched file.
    package struct FileChange: Codable, Equatable, Sendable {
        /// The kind of a change.
        package enum Kind: String, Codable, Sendable {
            case added, modified, deleted
        }

        /// The path, relative to the directory.
        package var path: String
        package var change: Kind
        /// The size at the failure, in bytes; absent for a deleted file.
        package var bytes: UInt64?
        /// The size at the start, in bytes; absent for an added file.
        package var earlierBytes: UInt64?
        /// The entry with the content at the failure; absent if it isn't in the bundle.
        package var entry: String?
        /// The entry with the content at the start; absent if it isn't in the bundle.
        package var earlierEntry: String?
        /// The reason why content is missing, as a full sentence; absent if all is there.
        package var reason: String?

        package init(path: String, change: Kind, bytes: UInt64?, earlierBytes: UInt64?) {
            self.path = path
            self.change = change
            self.bytes = bytes
            self.earlierBytes = earlierBytes
        }

        /// Removes the content's entries, because a redaction applies.
        package mutating func leaveOutContent() {
            (entry, earlierEntry) = (nil, nil)
            reason = "A redaction leaves it out."
        }

        /// The entries with the content.
        package var entries: [String] { [earlierEntry, entry].compactMap(\.self) }
    }
}

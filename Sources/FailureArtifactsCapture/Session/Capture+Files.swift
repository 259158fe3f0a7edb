internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

// The changes of watched files.
extension Capture {
    /// The limits on the changes of one directory.
    private enum FileLimit {
        /// The maximum number of changes.
        static let changes = 500
        /// The maximum size of a file whose content is kept, in bytes.
        static let fileBytes: UInt64 = 4 << 20
        /// The maximum total size of the content, in bytes.
        static let totalBytes: UInt64 = 32 << 20
    }

    /// Stages the changes of the files that the test watches, unless they are staged already.
    mutating func stageFiles() {
        let watches = test.state.withLock(\.watches)
        guard files.isEmpty, !watches.isEmpty else { return }
        var names = UniqueNames()
        for watch in watches {
            let name = names.claim(SafeName.make(from: watch.name, maximumBytes: 100))
            files.append(stage(watch, below: name))
        }
    }

    private mutating func stage(_ watch: FileWatch, below name: String) -> BundleMetadata.WatchedFiles {
        let changes = watch.changes(leavingOut: directory.path)
        if !changes.isComplete {
            warnings.add(
                .filesNotCompared,
                "Not all files of '\(watch.name)' were compared: there are more than "
                    + "\(FileListing.Limit.files), or they could not be listed in time.",
                ["files": .text(name)])
        }
        var paths = UniqueNames()
        var left = FileLimit.totalBytes
        var described: [BundleMetadata.FileChange] = []
        for var change in changes.changes.prefix(FileLimit.changes) {
            stage(&change, of: watch, below: name, &paths, &left)
            described.append(change.description)
        }
        let omitted = changes.changes.count - described.count
        return BundleMetadata.WatchedFiles(
            name: name, originalPath: watch.path, count: changes.count, changes: described,
            omittedChanges: omitted > 0 ? omitted : nil)
    }

    /// Stages a file's content at the start and at the failure.
    private mutating func stage(
        _ change: inout FileWatch.Changes.Change, of watch: FileWatch, below name: String,
        _ paths: inout UniqueNames, _ left: inout UInt64
    ) {
        let path = change.description.path
        if rules.leavesOut(attachment: path, file: path) {
            change.description.leaveOutContent()
            return
        }
        let file = watch.file(path)
        if let file, WatchedContent.isOfStore(file) || isStore(change.earlierContent) {
            change.description.reason = "It belongs to an SQLite database. Stores are captured apart."
            return
        }
        if let file, change.description.change != .deleted {
            do {
                change.content = try WatchedContent.read(file, limit: min(left, FileLimit.fileBytes))
                if change.content == nil {
                    change.description.reason =
                        "It has more than the \(min(left, FileLimit.fileBytes)) bytes that are kept of it."
                }
            } catch {
                change.description.reason = "\(error)."
            }
        }
        if change.description.change != .added, change.earlierContent == nil {
            change.description.reason =
                change.description.reason
                ?? "At the start it had more than \(FileListing.Limit.keptFileBytes) bytes, or others took the room."
        }
        let safe = paths.claim(Self.safePath(path))
        let folder = "files/\(name)"
        if let content = change.earlierContent {
            change.description.earlierEntry = stage(
                content, "\(folder)/\(RunningTest.startLabel)/\(safe)", &change.description, &left)
        }
        if let content = change.content {
            change.description.entry = stage(
                content, "\(folder)/failure/\(safe)", &change.description, &left)
        }
    }

    private func isStore(_ content: [UInt8]?) -> Bool {
        content?.starts(with: DatabaseHeader.magic) ?? false
    }

    private mutating func stage(
        _ content: [UInt8], _ entry: String, _ change: inout BundleMetadata.FileChange,
        _ left: inout UInt64
    ) -> String? {
        let size = UInt64(content.count)
        guard size <= left, room.take(size) else {
            change.reason = "No room was left for its content."
            return nil
        }
        do {
            try FileSystem.write(content, toNewFile: try staging.path(ofEntry: entry))
            left -= size
            return entry
        } catch {
            room.giveBack(size)
            change.reason = "\(error)."
            return nil
        }
    }

    /// Makes the parts of a relative path safe.
    private static func safePath(_ path: String) -> String {
        path.split(separator: "/").map { SafeName.make(from: String($0), maximumBytes: 100) }
            .joined(separator: "/")
    }
}

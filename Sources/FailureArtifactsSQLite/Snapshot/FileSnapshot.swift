package import FailureArtifactsSystem

/// A copy in progress that is made from the store's files.
///
/// Copies through SQLite are made elsewhere and recorded here.
package struct FileSnapshot {
    package let source: StoreSource
    package let targets: Snapshotter.Targets
    package let limits: Snapshotter
    package let deadline: Instant
    package var snapshot: Snapshot

    package init(of source: StoreSource, to targets: Snapshotter.Targets, limits: Snapshotter) {
        self.source = source
        self.targets = targets
        self.limits = limits
        deadline = Instant.now.advanced(bySeconds: limits.timeLimit)
        snapshot = Snapshot(storage: source.storage)
        snapshot.vfs = source.vfs
    }

    /// Copies the store without SQLite's help; SQLite only folds the copied journal.
    mutating func run() {
        measureFiles()
        learnJournalMode()
        do {
            try checkSize(of: snapshot.originalBytes)
            try checkKinds()
            guard let method = try copyFiles() else { return }
            try finishCopy()
            snapshot.method = method
            noteOtherWriters()
        } catch {
            snapshot.reason = error.reason
            discardCopy()
        }
    }

    /// Records the sizes of the original's files, and whether they were deleted or replaced.
    package mutating func measureFiles() {
        guard let original = source.path, let files = source.files else { return }
        snapshot.originalBytes = FileSystem.regularFile(files.database)?.size
        snapshot.walBytes = FileSystem.regularFile(files.wal)?.size
        let isMoved = source.identity != nil && !source.isInPlace
        if isMoved {
            snapshot.warnings.add(
                .storeFileReplaced,
                "The file '\(original)' was deleted or replaced while the test had it open.",
                path: original)
        }
        snapshot.isDeleted = files.areDeleted || isMoved
    }

    package mutating func checkSize(of bytes: UInt64?) throws(SnapshotFailure) {
        guard let bytes, bytes > limits.maximumBytes else { return }
        snapshot.excessiveBytes = bytes
        throw SnapshotFailure(
            "The store has \(bytes) bytes, more than the \(limits.maximumBytes) that may be copied.")
    }

    /// Fails if a pipe or a device has the name of one of the store's files.
    ///
    /// SQLite would open it, and wait for a writer. A connection that is open already opens only the journals.
    package func checkKinds(besidesDatabase: Bool = false) throws(SnapshotFailure) {
        guard let files = source.files else { return }
        let database = besidesDatabase ? [] : [files.database]
        for path in database + [files.wal, files.journal, files.walIndex] {
            guard (try? FileSystem.status(of: path))?.kind == .other else { continue }
            throw SnapshotFailure("'\(path)' is \(FileStatus.Kind.other.noun), which is not read.")
        }
    }

    /// Makes the copy stand-alone and checks its size.
    package mutating func finishCopy() throws(SnapshotFailure) {
        try makeStandalone(targets.copy)
        // With the content of its WAL, a store may be larger than its file.
        try checkSize(of: FileSystem.regularFile(targets.copy)?.size)
    }

    /// Changes a copy of a WAL database so that it opens without a WAL.
    ///
    /// Bytes 18 and 19 of the header are the write and read version: 2 for WAL, 1 for a rollback journal
    /// (<https://www.sqlite.org/fileformat2.html#file_format_version_numbers>). All of the WAL's content is
    /// in the copy already.
    package mutating func makeStandalone(_ path: String) throws(SnapshotFailure) {
        do {
            let file = try File(updating: path)
            var header = [UInt8](repeating: 0, count: 20)
            let count = try header.withMutableBytes { (buffer) throws(SystemError) in
                try file.read(into: buffer, at: 0)
            }
            // A file that is not a database is left unchanged.
            guard count == header.count, header.starts(with: DatabaseHeader.magic),
                header[18...] == [2, 2]
            else { return }
            if snapshot.journalMode == nil { snapshot.journalMode = "wal" }
            try [1, 1].withBytes { (buffer) throws(SystemError) in try file.write(buffer, at: 18) }
            try file.close()
        } catch {
            throw SnapshotFailure(error)
        }
    }

    /// Removes a copy that could not be finished, and its raw files.
    package mutating func discardCopy() {
        try? FileSystem.remove(targets.copy)
        for suffix in snapshot.rawFiles { try? FileSystem.remove(targets.raw + suffix) }
        snapshot.rawFiles = []
    }
}

internal import FailureArtifactsSystem

/// Copies a store into one stand-alone file, within limits.
///
/// The original's locks, journal mode and WAL stay as they are, and every wait is bounded.
package struct StoreCopier: Sendable {
    /// The files of one store's copies, none of which may exist.
    ///
    /// The directories of the copies must exist. Those of ``raw`` and ``history`` are created when needed,
    /// because few stores have these files.
    package struct Targets: Sendable {
        /// The path of the copy.
        package let copy: String
        /// The path of the copy of the committed state, if a transaction is open; nil if it isn't wanted.
        package let committed: String?
        /// The path of the unchanged database file, if its journal can't be folded in.
        ///
        /// The journal's name begins with this path.
        package let raw: String
        /// The path of the history of a store in WAL mode; nil if it isn't wanted.
        package let history: String?

        package init(copy: String, committed: String?, raw: String, history: String? = nil) {
            self.copy = copy
            self.committed = committed
            self.raw = raw
            self.history = history
        }
    }

    /// The maximum time to wait for locks and for other threads, for one store, in seconds.
    package var timeLimit: Double
    /// The maximum size of a store, in bytes; larger stores are described, not copied.
    package var maximumBytes: UInt64
    /// The maximum size of the history file, in bytes; beyond it, only the newest transactions are kept.
    package var maximumHistoryBytes = Self.maximumHistoryBytes
    /// The usual maximum size of a history, in bytes.
    package static let maximumHistoryBytes: UInt64 = 64 << 20
    /// The maximum time for recording a history, in seconds, within ``timeLimit``.
    package var historyTimeLimit: Double = 1
    /// The redactor that removes secrets from the copies.
    package var redactor: StoreRedactor?

    package init(timeLimit: Double = 2, maximumBytes: UInt64) {
        self.timeLimit = timeLimit
        self.maximumBytes = maximumBytes
    }

    /// Copies one store by its files; if the result has no copy, there is no file.
    package func capture(_ source: StoreSource, to targets: Targets) -> StoreCopy {
        redacting(source.path, source.storage, to: targets) { copier, targets in
            copier.withMemory {
                var copy = FileCopy(of: source, to: targets, limits: copier)
                copy.run()
                return copy.storeCopy
            }
        }
    }

    /// Makes a copy with enough memory, because the application's limit on SQLite's memory is not meant for it.
    package func withMemory(_ copy: () -> StoreCopy) -> StoreCopy {
        Connection.exceedingMemoryLimit(by: 512 << 20, copy)
    }
}

// MARK: Redacted copies

extension StoreCopier {
    /// Copies a store; if there is a redactor, into a private place first, and from there in redacted form.
    ///
    /// A store whose copy can't be redacted is described, not copied. `copy` copies the store to given places, using a
    /// copier without a redactor.
    package func redacting(
        _ path: String?, _ storage: StoreCopy.Storage, to targets: Targets,
        _ copy: (StoreCopier, Targets) -> StoreCopy
    ) -> StoreCopy {
        guard let redactor else { return copy(self, targets) }
        do {
            return redacting(path, to: targets, by: redactor, in: try PrivateDirectory.create(), copy)
        } catch {
            var storeCopy = StoreCopy(storage: storage)
            storeCopy.reason =
                "There is no private place to redact it in: \(error). Set TMPDIR to a directory that can be "
                + "written to."
            return storeCopy
        }
    }

    private func redacting(
        _ path: String?, to targets: Targets, by redactor: StoreRedactor,
        in place: borrowing PrivateDirectory, _ copy: (StoreCopier, Targets) -> StoreCopy
    ) -> StoreCopy {
        let copies = Targets(
            copy: Path.join(place.path, "copy.sqlite"),
            committed: targets.committed.map { _ in Path.join(place.path, "committed.sqlite") },
            raw: Path.join(place.path, "raw.sqlite"))
        var plain = self
        plain.redactor = nil
        var storeCopy = copy(plain, copies)
        if !storeCopy.rawFiles.isEmpty {
            storeCopy.rawFiles = []
            storeCopy.warnings.add(
                .rawFilesNotKept,
                "The files of '\(path ?? "")' as they were are left out: they cannot be redacted.",
                path: path)
        }
        guard storeCopy.method != .described, !storeCopy.isNothing else { return storeCopy }
        if targets.history != nil, storeCopy.journalMode == "wal" || (storeCopy.walBytes ?? 0) > 0 {
            storeCopy.history = WALHistory.Summary()
            storeCopy.history?.reason = "A history of pages cannot be redacted, so it was left out."
        }
        storeCopy.redact(copies, to: targets, by: redactor)
        return storeCopy
    }
}

extension StoreCopy {
    /// Replaces the copies by redacted ones.
    fileprivate mutating func redact(
        _ copies: StoreCopier.Targets, to targets: StoreCopier.Targets, by redactor: StoreRedactor
    ) {
        do {
            redaction = try redactor.redact(copies.copy, to: targets.copy)
            warnings += redaction?.notes ?? []
        } catch {
            method = .described
            isConsistent = false
            hasCommittedCopy = false
            history = nil
            reason = "It could not be redacted. \(error)"
            return
        }
        guard hasCommittedCopy, let copy = copies.committed, let target = targets.committed else {
            return
        }
        do {
            let result = try redactor.redact(copy, to: target)
            redaction?.add(result)
            warnings += result.notes.filter { !warnings.contains($0) }
        } catch {
            hasCommittedCopy = false
            warnings.add(
                .committedStateNotCopied,
                "The committed state was not copied: it could not be redacted. \(error)")
        }
    }
}

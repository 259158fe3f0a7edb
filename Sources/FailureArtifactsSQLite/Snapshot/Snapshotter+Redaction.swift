internal import FailureArtifactsSystem

// Copies that are redacted before they reach their destination.
extension Snapshotter {
    /// Copies a store; if there is a redactor, into a private place first, and from there in redacted form.
    ///
    /// A store whose copy can't be redacted is described, not copied. `copy` copies the store to given places, using a
    /// snapshotter without a redactor.
    package func redacting(
        _ path: String?, _ storage: Snapshot.Storage, to targets: Targets,
        _ copy: (Snapshotter, Targets) -> Snapshot
    ) -> Snapshot {
        guard let redactor else { return copy(self, targets) }
        do {
            return redacting(path, to: targets, by: redactor, in: try PrivateDirectory.create(), copy)
        } catch {
            var snapshot = Snapshot(storage: storage)
            snapshot.reason =
                "There is no private place to redact it in: \(error). Set TMPDIR to a directory that can be "
                + "written to."
            return snapshot
        }
    }

    private func redacting(
        _ path: String?, to targets: Targets, by redactor: StoreRedactor,
        in place: borrowing PrivateDirectory, _ copy: (Snapshotter, Targets) -> Snapshot
    ) -> Snapshot {
        let copies = Targets(
            copy: Path.join(place.path, "copy.sqlite"),
            committed: targets.committed.map { _ in Path.join(place.path, "committed.sqlite") },
            raw: Path.join(place.path, "raw.sqlite"))
        var plain = self
        plain.redactor = nil
        var snapshot = copy(plain, copies)
        if !snapshot.rawFiles.isEmpty {
            snapshot.rawFiles = []
            snapshot.warnings.add(
                .rawFilesNotKept,
                "The files of '\(path ?? "")' as they were are left out: they cannot be redacted.",
                path: path)
        }
        guard snapshot.method != .described, !snapshot.isNothing else { return snapshot }
        if targets.history != nil, snapshot.journalMode == "wal" || (snapshot.walBytes ?? 0) > 0 {
            snapshot.history = HistoryRecorder.Summary()
            snapshot.history?.reason = "A history of pages cannot be redacted, so it was left out."
        }
        snapshot.redact(copies, to: targets, by: redactor)
        return snapshot
    }
}

extension Snapshot {
    /// Replaces the copies by redacted ones.
    fileprivate mutating func redact(
        _ copies: Snapshotter.Targets, to targets: Snapshotter.Targets, by redactor: StoreRedactor
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

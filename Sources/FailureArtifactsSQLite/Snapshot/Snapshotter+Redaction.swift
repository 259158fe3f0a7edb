internal import FailureArtifactsSystem

// Copies that are redacted before they are where they belong.
extension Snapshotter {
    /// Copies a store into a private place, and what may be kept of it from there.
    ///
    /// Where a copy can't be redacted there is none: the store is described.
    func capture(
        _ store: DiscoveredStore, to targets: Targets, redactedBy redactor: StoreRedactor
    ) -> Snapshot {
        do {
            return capture(store, to: targets, redactedBy: redactor, in: try PrivateDirectory.create())
        } catch {
            var snapshot = Snapshot(storage: store.storage)
            snapshot.reason =
                "There is no private place to redact it in: \(error). Set TMPDIR to a directory that can be "
                + "written to."
            return snapshot
        }
    }

    private func capture(
        _ store: DiscoveredStore, to targets: Targets, redactedBy redactor: StoreRedactor,
        in place: borrowing PrivateDirectory
    ) -> Snapshot {
        let path = place.path
        let copies = Targets(
            copy: Path.join(path, "copy.sqlite"),
            committed: targets.committed.map { _ in Path.join(path, "committed.sqlite") },
            raw: Path.join(path, "raw.sqlite"))
        var plain = self
        plain.redactor = nil
        var snapshot = plain.capture(store, to: copies)
        if !snapshot.rawFiles.isEmpty {
            snapshot.rawFiles = []
            snapshot.warnings.append(
                "The files of '\(store.path ?? "")' as they were are left out: they cannot be redacted.")
        }
        guard snapshot.method != .described, !snapshot.isNothing else { return snapshot }
        if targets.history != nil, snapshot.journalMode == "wal" || (snapshot.walBytes ?? 0) > 0 {
            snapshot.history = HistoryRecorder.Summary()
            snapshot.history?.reason = "A history of pages cannot be redacted, so that there is none."
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
            warnings.append("The committed state was not copied: it could not be redacted. \(error)")
        }
    }
}

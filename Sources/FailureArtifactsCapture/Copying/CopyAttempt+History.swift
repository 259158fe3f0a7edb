internal import CFailureArtifactsCapture
internal import CFailureArtifactsShared
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

// The states that were recorded page by page; see slots.h.
extension CopyAttempt {
    /// Adds the history of a store whose WAL has none, and the committed state if it could not be copied.
    mutating func addRecordedStates() {
        guard storeCopy.method != .described, !storeCopy.isNothing else { return }
        let needsCommitted =
            hasUncommittedChanges && !storeCopy.hasCommittedCopy && targets.committed != nil
        guard targets.history != nil || needsCommitted else { return }
        let (states, gap) = store.recordedStates()
        guard let states else {
            if storeCopy.history == nil, targets.history != nil {
                storeCopy.history = .missing(because: gap)
            }
            return
        }
        do {
            // The last state is the committed one unless transactions followed that were not recorded.
            if needsCommitted, store.path == nil, states.postponedTransactions == 0,
                let committed = targets.committed
            {
                storeCopy.hasCommittedCopy = try states.writeLastState(toNewFile: committed)
            }
            guard let target = targets.history, !hasUncommittedChanges || storeCopy.hasCommittedCopy
            else { return }
            let last = storeCopy.hasCommittedCopy ? targets.committed ?? targets.copy : targets.copy
            try states.improve(
                &storeCopy.history, endingWith: last, at: target,
                maximumBytes: limits.maximumHistoryBytes
            )
        } catch {
            if storeCopy.history?.transactions ?? 0 > 0 { return }
            storeCopy.history = WALHistory.Summary()
            storeCopy.history?.reason = "\(error)."
        }
    }

    /// Writes the committed state of a store without a file, on whose connections nothing may run.
    ///
    /// The result is nil if it isn't known.
    func copyRecordedState() throws(CopyFailure) -> StoreCopy.Method? {
        guard let states = store.recordedStates().0, states.postponedTransactions == 0 else {
            return nil
        }
        do {
            return try states.writeLastState(toNewFile: targets.copy) ? .recorded : nil
        } catch {
            throw CopyFailure(error)
        }
    }

    /// True if the copy has changes that were not committed.
    private var hasUncommittedChanges: Bool {
        switch storeCopy.method {
        case .pageCache: storeCopy.isTransactionOpen == true
        case .beforeRollback: true
        default: false
        }
    }
}

extension DiscoveredStore {
    /// Returns the recorded states; nil if there are none, with the reason.
    fileprivate func recordedStates() -> (RecordedStates?, failure_artifacts_history_gap) {
        var first = failure_artifacts_history_has_none
        for key in historyKeys {
            let (states, gap) = key.states
            if let states { return (states, gap) }
            if first == failure_artifacts_history_has_none { first = gap }
        }
        return (nil, first)
    }

    /// A database in the terms of history.h.
    private struct HistoryKey {
        var file: FileStatus.Identity?
        var isDeleted = false
        var born: UInt64 = 0
        var connection: UInt64 = 0
        var schema = "main"

        /// The recorded states of the database; nil if there are none, with the reason.
        var states: (RecordedStates?, failure_artifacts_history_gap) {
            var result: RecordedStates?
            var gap = failure_artifacts_history_has_none
            schema.withCString { schema in
                let key = failure_artifacts_database_key(
                    file: .init(
                        is_known: file != nil, device: file?.device ?? 0, inode: file?.inode ?? 0),
                    is_deleted: isDeleted, born: born, connection: connection, schema: schema)
                withUnsafeMutablePointer(to: &result) { result in
                    _ = failure_artifacts_history_read(
                        key, result,
                        { context, slot in
                            let bytes = UnsafeRawBufferPointer(
                                start: slot, count: Int(failure_artifacts_slot_size))
                            context?.assumingMemoryBound(to: RecordedStates?.self).pointee =
                                RecordedStates(bytes)
                        }, &gap)
                }
            }
            return (result, gap)
        }
    }

    /// The names by which the store may have been recorded.
    private var historyKeys: [HistoryKey] {
        guard path == nil else {
            // Another file may have the path of one that was deleted.
            let found =
                reasonForNoFiles == nil
                ? identity ?? path.flatMap { try? FileSystem.status(of: $0)?.identity } : nil
            // Another file may have had the same number, but not the same connection.
            let connections = accesses.map(\.connection.serial) + (endedConnection.map { [$0] } ?? [])
            guard let found, connections.isEmpty, let path else {
                return connections.map {
                    HistoryKey(file: found, isDeleted: found == nil, connection: $0)
                }
            }
            return [HistoryKey(file: found, born: failure_artifacts_birth_of(path))]
        }
        return accesses.map { HistoryKey(connection: $0.connection.serial, schema: $0.schema) }
            + [last, beforeRollback].compactMap(\.self).map {
                HistoryKey(connection: $0.connection, schema: $0.schema)
            }
    }
}

extension WALHistory.Summary? {
    /// Explains why no history was recorded; nil if the store had no transaction.
    fileprivate static func missing(because gap: failure_artifacts_history_gap) -> Self {
        let reason: String? =
            switch gap {
            case failure_artifacts_history_is_too_large:
                "The store has more than \(failure_artifacts_slot_state >> 20) MiB, too many to record its transactions."
            case failure_artifacts_history_has_no_space:
                "There was no space to record its transactions."
            case failure_artifacts_history_is_not_plain:
                "The store is not a plain SQLite database, so its transactions were not recorded."
            case failure_artifacts_history_is_not_readable:
                "A page of the store could not be read, so its transactions were not recorded."
            default: nil
            }
        guard let reason else { return nil }
        var summary = WALHistory.Summary()
        summary.reason = reason
        return summary
    }
}

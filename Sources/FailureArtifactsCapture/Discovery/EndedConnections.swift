internal import CFailureArtifactsCapture

/// The saved data of ended connections, for one database or several.
struct EndedConnections {
    private(set) var savedStates: [SavedState] = []
    /// The logs, in the order in which the connections ended.
    var logs = KeptLogs()
    /// The number of the last statement, in the order of all connections' statements.
    private(set) var lastUse: UInt64 = 0
    /// The number of the last statement by connections that did not end after a rollback.
    private var lastSettledUse: UInt64 = 0

    /// Adds the data of an ended connection; its final rollback began at a number in the same order, if there was one.
    mutating func add(
        _ savedStates: [SavedState], _ log: KeptLog? = nil, lastUse use: UInt64,
        unwoundAt: UInt64?
    ) {
        self.savedStates += savedStates.filter { saved in
            saved.reason == .end || unwoundAt.map { saved.isOfRollback(since: $0) } ?? false
        }
        logs.add(log)
        lastUse = max(lastUse, use)
        if unwoundAt == nil { lastSettledUse = max(lastSettledUse, use) }
    }

    /// Returns the data of one database.
    func only(_ schema: String) -> EndedConnections {
        var result = self
        result.savedStates.removeAll { $0.schema != schema }
        return result
    }

    /// The content at the end; nil if a file has it.
    var last: SavedState? { savedStates.last { $0.reason == .end && $0.size != 0 } }

    /// The content before a rollback, if only the connection's end followed the rollback.
    var stateBeforeRollback: SavedState? {
        let latest = savedStates.filter { $0.reason == .rollback }.max { $0.order < $1.order }
        return latest.flatMap { $0.order >= lastSettledUse ? $0 : nil }
    }
}

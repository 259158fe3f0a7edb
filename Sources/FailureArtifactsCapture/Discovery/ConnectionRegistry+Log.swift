internal import CFailureArtifactsCapture
internal import CFailureArtifactsShared
internal import FailureArtifactsSystem

extension ConnectionRegistry {
    /// The options of the statement log, for connections that are opened from now on.
    struct LogOptions: Equatable, Sendable {
        /// The maximum number of statements per connection; 0 for none.
        var statements: Int
        /// True to log the values bound to statements.
        var values: Bool
        /// True to log the functions that ran the statements.
        var stacks: Bool
        /// True to record the states after transactions.
        var histories: Bool
        /// The space on the disk that the recorded states may take, and the space that they leave free, in bytes.
        var historyBytes: UInt64
        var freeBytes: UInt64

        init(
            statements: Int, values: Bool = false, stacks: Bool = true, histories: Bool = true,
            historyBytes: UInt64 = .max, freeBytes: UInt64 = 0
        ) {
            self.statements = statements
            self.values = values
            self.stacks = stacks
            self.histories = histories
            self.historyBytes = historyBytes
            self.freeBytes = freeBytes
        }
    }

    /// Sets the options of the statement log.
    func configureLog(_ options: LogOptions) {
        failure_artifacts_log_configure(
            UInt32(clamping: options.statements), options.values, options.stacks)
        failure_artifacts_history_turn(options.histories)
        failure_artifacts_slots_set_limits(options.historyBytes, options.freeBytes)
    }

    /// Returns the last statements of ended connections to the store of an open one.
    func logs(ofEndedConnectionsBeside connection: DiscoveredConnection) -> KeptLogs {
        state.withLock { state in
            var logs = state.endedConnections[connection.main]?.logs ?? KeptLogs()
            if let closed = state.closed.first(where: { $0.isSame(as: connection) }) {
                logs.addEarlier(closed.logsIfHeld)
            }
            return logs
        }
    }

    /// Returns the last use by those connections, in the order of all connections' statements; 0 for none.
    func lastUse(ofEndedConnectionsTo main: DiscoveredConnection.Main) -> UInt64 {
        state.withLock { $0.endedConnections[main]?.lastUse ?? 0 }
    }
}

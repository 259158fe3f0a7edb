internal import CFailureArtifactsCapture
internal import FailureArtifactsSystem

extension ConnectionRegistry {
    /// What is remembered of the statements of connections that are opened from now on.
    struct LogOptions: Equatable, Sendable {
        /// How many of each connection: 0 for none.
        var statements: Int
        /// Whether with the values bound to them.
        var values: Bool
        /// Whether with how long they took.
        var durations: Bool

        init(statements: Int, values: Bool = false, durations: Bool = false) {
            self.statements = statements
            self.values = values
            self.durations = durations
        }
    }

    /// Sets what is remembered of statements.
    func configureLog(_ options: LogOptions) {
        failure_artifacts_log_configure(
            UInt32(clamping: options.statements), options.values, options.durations)
    }

    /// The last statements of connections to a store that have ended while others of it are open.
    func logs(ofEndedConnectionsTo main: DiscoveredConnection.Main) -> KeptLogs {
        state.withLock { $0.stores[main]?.endedConnections?.logs ?? KeptLogs() }
    }

    /// The last one of all their statements, in the order of those of all connections; 0 for none.
    func lastUse(ofEndedConnectionsTo main: DiscoveredConnection.Main) -> UInt64 {
        state.withLock { $0.stores[main]?.endedConnections?.lastUse ?? 0 }
    }
}

internal import CFailureArtifactsCapture
internal import FailureArtifactsBundle

/// The log of a connection, which C passes chunk by chunk.
final class CollectedLog {
    private(set) var chunks: [LogChunk] = []
    private var state: LogEnd?

    func statements(keeping history: LoggedHistory) -> [LoggedStatement] {
        chunks.statements(before: state, keeping: history)
    }

    static let read: failure_artifacts_log_reader = { context, chunk, used, end in
        guard let context, let chunk else { return }
        let log = Unmanaged<CollectedLog>.fromOpaque(context).takeUnretainedValue()
        let bytes = UnsafeRawBufferPointer(start: chunk, count: used)
        if let chunk = LogChunk(bytes) { log.chunks.append(chunk) }
        if let end { log.state = LogEnd(end.pointee) }
    }
}

extension LogEnd {
    /// Nil if the state is not known.
    fileprivate init?(_ end: failure_artifacts_log_end) {
        guard end.changes >= 0 else { return nil }
        self.init(
            totalChanges: UInt32(truncatingIfNeeded: end.changes),
            ownChanges: UInt32(truncatingIfNeeded: end.own_changes), written: end.written,
            spilled: end.spilled, version: end.version, isInTransaction: end.is_in_transaction,
            failure: end.message.map { .init(code: end.code, message: String(cString: $0)) })
    }
}

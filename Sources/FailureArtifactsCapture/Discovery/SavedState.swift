internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The content of a database as a connection saw it, just before it was lost.
///
/// It can be used from any thread.
final class SavedState: Sendable {
    /// The event that follows and would lose the content: a rollback, or the connection's end.
    enum Reason: Sendable {
        case rollback, end
    }

    private struct Bytes: @unchecked Sendable {
        let start: UnsafeMutableRawPointer?
    }

    let reason: Reason
    /// The number of the connection; 0 if unknown.
    let connection: UInt64
    /// The database's name on its connection.
    let schema: String
    /// The database's file, if it has one.
    let path: String?
    let identity: FileStatus.Identity?
    /// The size in bytes; 0 if nothing is lost with the connection, because the file still exists.
    ///
    /// It is -1 if the content could not be read, or if the close was not reported in time.
    let size: Int
    /// The number of the process's statements when the content was saved.
    let order: UInt64
    private let bytes: Lock<Bytes>

    /// Takes over bytes, to be freed with `free`; nil if there was no room or time for them.
    init(
        reason: Reason, connection: UInt64 = 0, schema: String, path: String?,
        bytes: UnsafeMutableRawPointer?, size: Int, order: UInt64
    ) {
        self.reason = reason
        self.connection = connection
        self.schema = schema
        self.path = path
        identity = path.flatMap { try? FileSystem.status(of: $0)?.identity }
        self.bytes = Lock(Bytes(start: bytes))
        self.size = size
        self.order = order
    }

    /// Takes over the state that C has saved of a connection.
    convenience init(_ saved: failure_artifacts_saved_state, of connection: UInt64) {
        let reason: Reason =
            saved.reason == failure_artifacts_is_rolling_back ? .rollback : .end
        self.init(
            reason: reason, connection: connection, schema: String(cString: saved.schema),
            path: saved.path.map { String(cString: $0) }, bytes: saved.bytes, size: Int(saved.size),
            order: failure_artifacts_point_in_time())
    }

    deinit { drop() }

    /// Frees the content, and keeps its size.
    func drop() {
        bytes.withLock { bytes in
            free(bytes.start)
            bytes = Bytes(start: nil)
        }
    }

    /// Returns true if the content was lost by a rollback at statement number `start` or later.
    func isOfRollback(since start: UInt64) -> Bool { reason == .rollback && order >= start }

    var isThere: Bool { bytes.withLock { $0.start != nil } }

    /// Writes the content to a new file.
    ///
    /// True if there was content.
    func write(toNewFile path: String) throws(SystemError) -> Bool {
        try bytes.withLock { bytes throws(SystemError) in
            guard let start = bytes.start else { return false }
            let file = try File(creating: path)
            try file.write(UnsafeRawBufferPointer(start: start, count: size), at: 0)
            try file.close()
            return true
        }
    }
}

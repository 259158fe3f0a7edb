internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// What a connection saw of a database just before it was lost: by a rollback, or by the connection's end.
///
/// May be used from any thread.
final class SavedState: Sendable {
    /// What the content would have been lost by: a rollback, the connection's end, or what a test did next.
    enum Reason: Sendable {
        case rollback, end, use
    }

    private struct Bytes: @unchecked Sendable {
        let start: UnsafeMutableRawPointer?
    }

    let reason: Reason
    /// The database's name on its connection.
    let schema: String
    /// Its file, if it has one.
    let path: String?
    /// Which file that is.
    let identity: FileStatus.Identity?
    /// In bytes; 0 where nothing is lost with the connection, because the file is still there, and -1 where it
    /// could not be read.
    let size: Int
    /// Counts the process's statements when it was made.
    let order: UInt64
    private let bytes: Lock<Bytes>

    /// Takes over what `sqlite3_serialize` gave; nil where there was no room or time for it.
    init(
        reason: Reason, schema: String, path: String?, bytes: UnsafeMutableRawPointer?, size: Int,
        order: UInt64
    ) {
        self.reason = reason
        self.schema = schema
        self.path = path
        identity = path.flatMap { try? FileSystem.status(of: $0)?.identity }
        self.bytes = Lock(Bytes(start: bytes))
        self.size = size
        self.order = order
    }

    /// Takes over what C has kept.
    convenience init(_ image: failure_artifacts_image) {
        let reason: Reason =
            switch image.reason {
            case failure_artifacts_is_rolling_back: .rollback
            case failure_artifacts_is_ending: .end
            default: .use
            }
        self.init(
            reason: reason, schema: String(cString: image.schema),
            path: image.path.map { String(cString: $0) }, bytes: image.bytes, size: Int(image.size),
            order: failure_artifacts_point_in_time())
    }

    deinit { drop() }

    /// Frees the content, of which only the size stays known.
    func drop() {
        bytes.withLock { bytes in
            sqlite3_free(bytes.start)
            bytes = Bytes(start: nil)
        }
    }

    /// Whether this was lost by a rollback when, or after, there had been so many statements.
    func isOfRollback(since start: UInt64) -> Bool { reason == .rollback && order >= start }

    var isThere: Bool { bytes.withLock { $0.start != nil } }

    /// Writes the content to a new file.
    ///
    /// - Parameter path: The file.
    /// - Returns: Whether there was content.
    /// - Throws: The failure to write it.
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

/// The images of a process, within a bound.
struct SavedStates {
    /// Beyond these the oldest are dropped.
    static let maximumBytes = 64 << 20
    static let maximumCount = 256

    /// Of the connections that are open, the latest of each reason and schema.
    private var open: [UInt64: [SavedState]] = [:]
    /// All, those of ended connections too, in the order they were made.
    private var all: [SavedState] = []
    private var bytes = 0

    /// Adds an image of a connection in place of the earlier one of the same kind.
    mutating func add(_ image: SavedState, of serial: UInt64) {
        isEmpty = false
        var images = open[serial] ?? []
        if let index = images.firstIndex(where: {
            $0.reason == image.reason && $0.schema == image.schema
        }) {
            let old = images.remove(at: index)
            if let index = all.lastIndex(where: { $0 === old }) { drop(at: index) }
        }
        open[serial] = images + [image]
        guard image.isThere else { return }
        all.append(image)
        bytes += image.size
        while bytes > Self.maximumBytes || all.count > Self.maximumCount { drop(at: 0) }
    }

    private mutating func drop(at index: Int) {
        let image = all.remove(at: index)
        bytes -= image.size
        image.drop()
    }

    /// Drops images of connections that have ended, for which nobody will ask.
    mutating func forget(_ images: [SavedState]) {
        for image in images {
            if let index = all.lastIndex(where: { $0 === image }) { drop(at: index) }
        }
    }

    /// Whether none was added since this was made.
    private(set) var isEmpty = true

    /// Of a connection that is open.
    subscript(serial: UInt64) -> [SavedState] { open[serial] ?? [] }

    /// Hands out the images of a connection that has ended.
    mutating func take(of serial: UInt64) -> [SavedState] {
        open.isEmpty ? [] : open.removeValue(forKey: serial) ?? []
    }
}

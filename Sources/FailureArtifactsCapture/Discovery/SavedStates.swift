internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite

/// The saved states of a process, within limits.
struct SavedStates {
    /// The limits beyond which the oldest states are dropped, in bytes and as a count.
    static let maximumBytes = 64 << 20
    static let maximumCount = 256

    /// The saved states of open connections, by connection: the latest of each reason and schema.
    private var open: [UInt64: [SavedState]] = [:]
    /// All saved states, including those of ended connections, in the order they were made.
    private var all: [SavedState] = []
    private var bytes = 0

    /// Adds a connection's saved state, and drops its earlier one of the same reason and schema.
    mutating func add(_ saved: SavedState, of serial: UInt64) {
        isEmpty = false
        var savedStates = open[serial] ?? []
        if let index = savedStates.firstIndex(where: {
            $0.reason == saved.reason && $0.schema == saved.schema
        }) {
            let old = savedStates.remove(at: index)
            if let index = all.lastIndex(where: { $0 === old }) { drop(at: index) }
        }
        open[serial] = savedStates + [saved]
        guard saved.isThere else { return }
        all.append(saved)
        bytes += saved.size
        while bytes > Self.maximumBytes || all.count > Self.maximumCount { drop(at: 0) }
    }

    private mutating func drop(at index: Int) {
        let saved = all.remove(at: index)
        bytes -= saved.size
        saved.drop()
    }

    /// Drops saved states of ended connections that are no longer needed.
    mutating func forget(_ savedStates: [SavedState]) {
        for saved in savedStates {
            if let index = all.lastIndex(where: { $0 === saved }) { drop(at: index) }
        }
    }

    /// True if no state was ever added.
    private(set) var isEmpty = true

    /// The saved states of an open connection.
    subscript(serial: UInt64) -> [SavedState] { open[serial] ?? [] }

    /// Removes and returns the saved states of a connection that has ended.
    mutating func take(of serial: UInt64) -> [SavedState] {
        open.isEmpty ? [] : open.removeValue(forKey: serial) ?? []
    }
}

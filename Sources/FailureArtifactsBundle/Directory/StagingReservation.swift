package import FailureArtifactsSystem

/// The bytes that one capture may stage.
///
/// Nothing is reserved: captures at the same time may exceed a limit together by what they stage. The bundle's size
/// is checked once more before it gets its name. One thread at a time puts something into a staging directory.
package final class StagingReservation: Sendable {
    private struct State {
        /// The bytes that are staged.
        var used: UInt64
        /// The greatest value of `used` for the time being.
        var maximum = UInt64.max
        var limit = DirectoryLimits.Limit.totalBytes
        var hasRecounted = false
    }

    package let staging: StagingDirectory
    private let directory: ArtifactsDirectory
    private let limits: DirectoryLimits
    private let state: Lock<State>

    /// Begins a capture, if there may be one more bundle.
    ///
    /// - Parameters:
    ///   - directory: The artifacts directory.
    ///   - process: The process of the test.
    ///   - limits: What the directory may hold.
    /// - Throws: A `SystemError`, the failure to create its files, or ``LimitReached``.
    package init(
        in directory: ArtifactsDirectory, of process: ProcessIdentity = .current,
        within limits: DirectoryLimits
    ) throws {
        staging = try directory.makeStagingDirectory(of: process, within: limits)
        self.directory = directory
        self.limits = limits
        state = Lock(State(used: 0))
    }

    /// Continues a capture that another process has left.
    package init(
        of staging: StagingDirectory, in directory: ArtifactsDirectory, within limits: DirectoryLimits
    ) {
        self.staging = staging
        self.directory = directory
        self.limits = limits
        state = Lock(State(used: FileSystem.size(ofAllBelow: staging.path)))
    }

    /// The limit that decided when room was asked for last.
    package var limit: DirectoryLimits.Limit { state.withLock(\.limit) }

    /// The bytes that are staged.
    package var used: UInt64 { state.withLock(\.used) }

    /// Runs `body` with a maximum for all that is staged.
    package func limited(to maximum: UInt64, _ body: () -> Void) {
        state.withLock { $0.maximum = maximum }
        body()
        state.withLock { $0.maximum = .max }
    }

    /// Looks up how much may still be staged.
    ///
    /// - Parameter bytes: The bytes that are needed. If there seem to be fewer, the directory is listed first.
    /// - Returns: The bytes that may still be staged, more or fewer than `bytes`.
    package func available(for bytes: UInt64) -> UInt64 {
        state.withLock { available(for: bytes, &$0) }
    }

    private func available(for bytes: UInt64, _ state: inout State) -> UInt64 {
        var room = room(besides: state.used)
        if room.bytes < bytes, room.limit == .totalBytes, !state.hasRecounted {
            directory.recount()
            state.hasRecounted = true
            room = self.room(besides: state.used)
        }
        let rest = state.maximum.saturatingSubtract(state.used)
        state.limit = rest < room.bytes ? .totalBytes : room.limit
        return min(room.bytes, rest)
    }

    private func room(besides used: UInt64) -> (bytes: UInt64, limit: DirectoryLimits.Limit) {
        let bundles = UsageFile.lastUsage(in: directory.path)?.bytes ?? 0
        // Staged bytes are on the disk twice while they are packed.
        let spare = spareBytes.saturatingSubtract(used) / 2
        let rooms: [(bytes: UInt64, limit: DirectoryLimits.Limit)] = [
            (limits.totalContentBytes.saturatingSubtract(bundles.saturatingAdd(used)), .totalBytes),
            (limits.bundleContentBytes.saturatingSubtract(used), .bundleBytes), (spare, .freeBytes),
        ]
        return rooms.min { $0.bytes < $1.bytes } ?? rooms[0]
    }

    private var spareBytes: UInt64 {
        guard limits.freeBytes > 0, let free = FileSystem.freeBytes(ofVolumeAt: directory.path) else {
            return .max
        }
        return free.saturatingSubtract(limits.contentFreeBytes)
    }

    /// Counts bytes as staged, and returns true, if there is room for them.
    package func take(_ bytes: UInt64) -> Bool {
        state.withLock { state in
            guard available(for: bytes, &state) >= bytes else { return false }
            state.used = state.used.saturatingAdd(bytes)
            return true
        }
    }

    /// Counts bytes as no longer staged.
    package func giveBack(_ bytes: UInt64) {
        state.withLock { $0.used = $0.used.saturatingSubtract(bytes) }
    }
}

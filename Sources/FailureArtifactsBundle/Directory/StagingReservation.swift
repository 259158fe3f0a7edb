package import FailureArtifactsSystem

/// The bytes that one capture may stage.
///
/// Nothing is reserved on the disk: concurrent captures may exceed a limit together while they stage files. The
/// bundle's size is checked again before the bundle gets its name. Only one thread at a time may add files to a staging
/// directory.
package final class StagingReservation: Sendable {
    private struct State {
        /// The number of staged bytes.
        var used: UInt64
        /// The current maximum of `used`.
        var maximum = UInt64.max
        var limit = DirectoryLimits.Limit.totalBytes
        var hasRecounted = false
    }

    package let staging: StagingDirectory
    private let directory: ArtifactsDirectory
    private let limits: DirectoryLimits
    private let state: Lock<State>

    /// Starts a capture, if one more bundle is allowed.
    ///
    /// - Parameters:
    ///   - directory: The artifacts directory.
    ///   - process: The process of the test.
    ///   - limits: The limits of the artifacts directory.
    /// - Throws: A `SystemError` if its files can't be created, or ``LimitReached``.
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

    /// The limit that determined the last result of ``available(for:)`` or ``take(_:)``.
    package var limit: DirectoryLimits.Limit { state.withLock(\.limit) }

    /// The number of staged bytes.
    package var used: UInt64 { state.withLock(\.used) }

    /// Runs `body` with a temporary maximum for all staged bytes.
    package func limited(to maximum: UInt64, _ body: () -> Void) {
        state.withLock { $0.maximum = maximum }
        body()
        state.withLock { $0.maximum = .max }
    }

    /// Computes how many bytes may still be staged.
    ///
    /// - Parameter bytes: The number of bytes that are needed. If there seem to be fewer, the directory is listed
    ///   first.
    /// - Returns: The number of bytes that may still be staged, more or fewer than `bytes`.
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
        // While they are packed, staged bytes are on the disk twice.
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

    /// Counts bytes as staged if there is space for them; returns true if it did.
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

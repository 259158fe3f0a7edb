package import FailureArtifactsSystem

/// The bytes that one capture may stage.
///
/// Nothing is reserved on the disk: concurrent captures may exceed a limit of bytes together while they stage files. The
/// bundle's size is checked again before the bundle gets its name.
package struct StagingRoom: Sendable {
    package let staging: StagingDirectory
    private let directory: ArtifactsDirectory
    private let limits: DirectoryLimits
    /// The number of staged bytes.
    package private(set) var used: UInt64 = 0
    /// The maximum of ``used``, in addition to the limits of the directory.
    package var maximum = UInt64.max
    /// The limit that determined the last result of ``available(for:)`` or ``take(_:)``.
    package private(set) var limit = DirectoryLimits.Limit.totalBytes
    /// The total size of the bundles when they were last counted, in bytes.
    private var bundleBytes: UInt64
    private var hasMadeRoom = false

    /// Starts a capture, if one more bundle is allowed; throws a `SystemError` or ``LimitReached``.
    package init(
        in directory: ArtifactsDirectory, of process: ProcessIdentity = .current,
        within limits: DirectoryLimits
    ) throws {
        staging = try directory.makeStagingDirectory(of: process, within: limits)
        self.directory = directory
        self.limits = limits
        bundleBytes = Self.bundleBytes(in: directory)
    }

    /// Continues a capture that another process has left.
    init(
        of staging: StagingDirectory, in directory: ArtifactsDirectory, within limits: DirectoryLimits
    ) {
        self.staging = staging
        self.directory = directory
        self.limits = limits
        bundleBytes = Self.bundleBytes(in: directory)
        used = FileSystem.size(ofAllBelow: staging.path)
    }

    private static func bundleBytes(in directory: ArtifactsDirectory) -> UInt64 {
        (try? DirectoryUsage(of: directory.path))?.bytes ?? 0
    }

    /// Returns how many bytes may still be staged, more or fewer than needed.
    ///
    /// If there are fewer, the oldest bundles are removed first, provided the limits say so.
    package mutating func available(for bytes: UInt64) -> UInt64 {
        var room = room
        if room.bytes < bytes, room.limit == .totalBytes, !hasMadeRoom {
            try? DirectoryLock(of: directory).checkRoom(
                forBundleOf: bytes.saturatingAdd(used), upTo: limits.totalContentBytes, limits)
            bundleBytes = Self.bundleBytes(in: directory)
            hasMadeRoom = true
            room = self.room
        }
        let rest = maximum.saturatingSubtract(used)
        limit = rest < room.bytes ? .totalBytes : room.limit
        return min(room.bytes, rest)
    }

    /// The number of bytes that the limits of the directory leave, and the limit that determines it.
    private var room: (bytes: UInt64, limit: DirectoryLimits.Limit) {
        let rooms: [(bytes: UInt64, limit: DirectoryLimits.Limit)] = [
            (limits.totalContentBytes.saturatingSubtract(bundleBytes.saturatingAdd(used)), .totalBytes),
            (limits.bundleContentBytes.saturatingSubtract(used), .bundleBytes),
            // While they are packed, staged bytes are on the disk twice.
            (spareBytes.saturatingSubtract(used) / 2, .freeBytes),
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
    package mutating func take(_ bytes: UInt64) -> Bool {
        guard available(for: bytes) >= bytes else { return false }
        used = used.saturatingAdd(bytes)
        return true
    }

    /// Counts the files of a store's copies as staged.
    ///
    /// If there is no space for them, the history is removed. If that isn't enough, all files are, and the result is the
    /// reason as a full sentence.
    package mutating func takeFiles(of store: inout BundleMetadata.Store) -> String? {
        let files = store.stagedEntries.map(staging.file(ofEntry:))
        let size = files.reduce(0) { $0 + (FileSystem.regularFile($1)?.size ?? 0) }
        if take(size) { return nil }
        if let entry = store.history?.entry {
            try? FileSystem.remove(staging.file(ofEntry: entry))
            store.history = .init(
                entry: nil, transactions: 0, bytes: 0,
                reason: "No room was left for it. \(limit.rawValue) sets the limit.")
            return takeFiles(of: &store)
        }
        for file in files { try? FileSystem.remove(file) }
        return "It has \(size) bytes, for which no room was left."
    }

    /// Writes the statements of a store to an entry, if there is space for them; returns true if it did.
    ///
    /// The images are those of the test's process, as JSON, which the statements' stacks refer to.
    package mutating func stage(
        _ records: [StatementRecord], to entry: String, images: @autoclosure () -> String?
    ) throws(SystemError) -> Bool {
        let lines = StatementRecord.lines(of: records)
        guard take(UInt64(lines.count)) else { return false }
        if records.contains(where: { $0.stack != nil }), let images = images() {
            try staging.record(images: images)
        }
        try FileSystem.write(lines, toNewFile: staging.path(ofEntry: entry))
        return true
    }

    /// Counts bytes as no longer staged.
    package mutating func giveBack(_ bytes: UInt64) { used = used.saturatingSubtract(bytes) }
}

extension UInt64 {
    func saturatingAdd(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    package func saturatingSubtract(_ other: UInt64) -> UInt64 { self - Swift.min(self, other) }
}

internal import FailureArtifactsSystem

/// The lock of an artifacts directory, held as long as this value exists.
///
/// It is the lock of a hidden file, which has the number of failures that a limit left without a bundle. A process holds
/// it for milliseconds, unless it was stopped. Then other processes continue without the lock, and may exceed a limit.
struct DirectoryLock: ~Copyable {
    static let fileName = ".budget"

    private let directory: String
    /// The locked file; nil if it can't be created or locked.
    private let file: File?

    /// Waits for the lock; creates the file if it is missing.
    init(of directory: ArtifactsDirectory) {
        self.directory = directory.path
        file = Self.lockedFile(
            at: Path.join(directory.path, Self.fileName), patience: directory.lockPatience)
    }

    deinit { file?.unlock() }

    consuming func close() {}

    /// Ensures that the directory has space for another bundle of a size in bytes, up to a maximum for all bundles.
    ///
    /// Before it refuses a bundle by throwing ``LimitReached``, it removes the oldest bundles if the limits say so.
    ///
    /// - `begun`: the number of captures that will be bundles, too.
    func checkRoom(
        forBundleOf size: UInt64, upTo maximum: UInt64, besides begun: Int = 0, _ limits: DirectoryLimits
    ) throws {
        var usage = try DirectoryUsage(of: directory)
        while true {
            let limit: DirectoryLimits.Limit
            if usage.bundles + begun >= limits.bundles {
                limit = .bundles
            } else if usage.bytes.saturatingAdd(size) > maximum {
                limit = .totalBytes
            } else {
                return
            }
            guard limits.removesOldest, limit == .bundles || size <= maximum, usage.removeOldest() else {
                throw LimitReached(limit: limit, path: directory, limits: limits)
            }
        }
    }

    // MARK: The file

    fileprivate func countFailureLeftOut() {
        switch file {
        case .some(let file):
            let text = "\(Self.failuresLeftOut(in: file).saturatingAdd(1))\n"
            try? Array(text.utf8).withBytes { (bytes) throws(SystemError) in
                try file.write(bytes, at: 0)
            }
        case .none: break
        }
    }

    /// Reads the number at the start of the file; 0 without one.
    fileprivate static func failuresLeftOut(in file: borrowing File) -> UInt64 {
        let digits = ((try? file.bytes(20, at: 0)) ?? []).prefix { (0x30...0x39).contains($0) }
        return UInt64(String(decoding: digits, as: UTF8.self)) ?? 0
    }

    private static func lockedFile(at path: String, patience: Double) -> File? {
        let deadline = Instant.now.advanced(bySeconds: patience)
        do throws(SystemError) {
            while true {
                let file = try File.updatingOwn(path)
                guard try lock(file, until: deadline) else {
                    // Remove the file, so that the next process doesn't wait for this lock again.
                    if try isCurrent(file) { try FileSystem.removeFile(path) }
                    return nil
                }
                // Another process may have removed the file meanwhile.
                if try isCurrent(file) { return file }
            }
        } catch {
            return nil
        }
    }

    private static func lock(_ file: borrowing File, until deadline: Instant) throws(SystemError) -> Bool
    {
        var pause: UInt32 = 100
        do throws(SystemError) {
            while try !file.tryLock() {
                guard Instant.now < deadline else { return false }
                sleep(microseconds: pause)
                pause = min(pause * 2, 6400)
            }
        } catch  where error.code == ENOTSUP || error.code == ENOLCK || error.code == ENOSYS {
            // On a volume without such locks, concurrent processes may exceed a limit.
        }
        return true
    }

    private static func isCurrent(_ file: borrowing File) throws(SystemError) -> Bool {
        try FileSystem.statusWithoutFollowing(file.path)?.identity == file.status().identity
    }
}

extension ArtifactsDirectory {
    /// The number of failures that a limit left without a bundle so far; 0 if unknown.
    package var failuresLeftOut: UInt64 {
        guard let file = try? File(reading: Path.join(path, DirectoryLock.fileName)) else { return 0 }
        return DirectoryLock.failuresLeftOut(in: file)
    }

    /// Counts a failure that a limit left without a bundle.
    package func countFailureLeftOut() {
        DirectoryLock(of: self).countFailureLeftOut()
    }
}

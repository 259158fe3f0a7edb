package import FailureArtifactsSystem

/// The number and the total size of the bundles in an artifacts directory.
package struct DirectoryUsage: Equatable, Sendable {
    package var bundles: UInt64 = 0
    /// The total size of the bundle files, in bytes.
    package var bytes: UInt64 = 0
    /// The number of failures that a limit left without a bundle, since the usage file was created.
    var failuresLeftOut: UInt64 = 0

    init() {}

    /// Lists a directory; a missing directory is empty.
    init(listing directory: String) throws(SystemError) {
        do throws(SystemError) {
            for name in try FileSystem.contents(ofDirectory: directory) where name.hasSuffix(".zip") {
                // Another process may just have removed it.
                guard let file = FileSystem.regularFile(Path.join(directory, name)) else { continue }
                add(bundle: file.size)
            }
        } catch {
            guard error.isNotFound else { throw error }
        }
    }

    mutating func add(bundle size: UInt64) {
        bundles = bundles.saturatingAdd(1)
        bytes = bytes.saturatingAdd(size)
    }

    mutating func remove(bundle size: UInt64) {
        bundles = bundles.saturatingSubtract(1)
        bytes = bytes.saturatingSubtract(size)
    }

    // MARK: The file's form

    /// The file's content: three decimal numbers and a newline.
    var text: String { "\(bundles) \(bytes) \(failuresLeftOut)\n" }

    /// Parses the first line of a file; nil if it has another form.
    ///
    /// The rest of an earlier, longer line may follow.
    init?(text: String) {
        guard let end = text.firstIndex(of: "\n") else { return nil }
        let numbers = text[..<end].split(separator: " ").map { UInt64($0) }
        guard numbers.count == 3, let bundles = numbers[0], let bytes = numbers[1],
            let leftOut = numbers[2]
        else { return nil }
        (self.bundles, self.bytes, failuresLeftOut) = (bundles, bytes, leftOut)
    }
}

/// A bundle's file with the time at which it was written.
private struct DatedBundle {
    let path: String
    let size: UInt64
    private let modified: Int64

    /// Lists the bundles in a directory, oldest first; other files aren't included.
    static func all(in directory: String) throws(SystemError) -> [DatedBundle] {
        try FileSystem.contents(ofDirectory: directory).sorted().compactMap { name in
            let path = Path.join(directory, name)
            guard BundleName.isName(name), let file = FileSystem.regularFile(path),
                BundlePacker.isBundle(path)
            else { return nil }
            return DatedBundle(path: path, size: file.size, modified: file.modified)
        }.sorted { $0.modified < $1.modified }
    }
}

/// The hidden file with the usage of an artifacts directory, locked as long as this value exists.
///
/// The numbers are a cache of a directory listing. A missing or unreadable file is created again, and the directory is
/// listed before a limit refuses anything. A process holds the lock for microseconds, unless it was stopped. Then other
/// processes continue without the lock and without the file.
struct UsageFile: ~Copyable {
    static let name = ".budget"
    /// The maximum time to wait for the lock, in seconds.
    ///
    /// A hundred processes on two busy cores took more than one second.
    static let patience = 5.0

    /// The usage according to the file or a listing.
    var usage: DirectoryUsage
    private let directory: String
    /// The locked file; nil if it can't be created or locked.
    private let file: File?

    /// Opens and locks the file; creates it if it is missing.
    init(in directory: String) throws(SystemError) {
        let file = Self.lockedFile(at: Path.join(directory, Self.name))
        let known = Self.usage(in: file)
        let usage: DirectoryUsage
        if let known { usage = known } else { usage = try DirectoryUsage(listing: directory) }
        self.usage = usage
        self.directory = directory
        self.file = file
        if known == nil { save() }
    }

    deinit { file?.unlock() }

    /// Releases the lock.
    consuming func close() {}

    /// Updates the usage from a new listing of the directory.
    mutating func recount() throws(SystemError) {
        var listed = try DirectoryUsage(listing: directory)
        listed.failuresLeftOut = usage.failuresLeftOut
        guard listed != usage else { return }
        usage = listed
        save()
    }

    /// Ensures that a directory has space for another bundle of a size in bytes, up to a maximum for all bundles.
    ///
    /// Before it refuses a bundle by throwing ``LimitReached``, it lists the directory, and removes the oldest bundles if
    /// the limits say so.
    mutating func checkRoom(forBundleOf size: UInt64, upTo maximum: UInt64, _ limits: DirectoryLimits)
        throws
    {
        if exceededLimit(size, maximum, limits) == nil { return }
        try recount()
        var oldest = limits.removesOldest ? try DatedBundle.all(in: directory)[...] : []
        while let limit = exceededLimit(size, maximum, limits) {
            guard let bundle = oldest.popFirst(), limit == .bundles || size <= maximum else {
                throw LimitReached(limit: limit, path: directory, limits: limits)
            }
            do throws(SystemError) {
                try FileSystem.removeFile(bundle.path)
            } catch {
                // It can't be removed, or someone else has just done that.
                continue
            }
            usage.remove(bundle: bundle.size)
            save()
        }
    }

    private func exceededLimit(
        _ size: UInt64, _ maximum: UInt64, _ limits: DirectoryLimits
    ) -> DirectoryLimits.Limit? {
        if usage.bundles >= limits.bundles { return .bundles }
        return usage.bytes.saturatingAdd(size) > maximum ? .totalBytes : nil
    }

    /// Writes the usage, or invalidates the file if that fails.
    ///
    /// A missing file is better than a wrong one: the next process lists the directory.
    func save() {
        switch file {
        case .some(let file):
            do throws(SystemError) {
                try Array(usage.text.utf8).withBytes { (bytes) throws(SystemError) in
                    try file.write(bytes, at: 0)
                }
            } catch {
                try? file.resize(to: 0)
            }
        case .none: try? FileSystem.removeFile(Path.join(directory, Self.name))
        }
    }

    // MARK: The file

    /// Reads the usage when the file was last written, without a lock; nil if it can't be read.
    static func lastUsage(in directory: String) -> DirectoryUsage? {
        usage(in: try? File(reading: Path.join(directory, name)))
    }

    private static func usage(in file: borrowing File?) -> DirectoryUsage? {
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = try? bytes.withMutableBytes { (buffer) throws(SystemError) in
            try file?.read(into: buffer, at: 0)
        }
        return DirectoryUsage(text: String(decoding: bytes[..<(count ?? 0)], as: UTF8.self))
    }

    private static func lockedFile(at path: String) -> File? {
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
    /// Lists the directory.
    package func usage() throws(SystemError) -> DirectoryUsage { try DirectoryUsage(listing: path) }

    private var hasUsageFile: Bool {
        (try? FileSystem.statusWithoutFollowing(Path.join(path, UsageFile.name))) != .some(nil)
    }

    /// The number of failures that a limit left without a bundle so far; 0 if unknown.
    package var failuresLeftOut: UInt64 { UsageFile.lastUsage(in: path)?.failuresLeftOut ?? 0 }

    /// Counts a failure that a limit left without a bundle.
    package func countFailureLeftOut() {
        guard var file = try? UsageFile(in: path) else { return }
        file.usage.failuresLeftOut = file.usage.failuresLeftOut.saturatingAdd(1)
        file.save()
    }

    /// Counts the bundles again, in case a user has added or removed some.
    package func recount() {
        guard hasUsageFile, var file = try? UsageFile(in: path) else { return }
        try? file.recount()
    }

    /// Counts the bundles again, and removes the oldest if the limits say so, until there is space for a number of bytes.
    func recount(makingRoomFor bytes: UInt64, within limits: DirectoryLimits) {
        guard hasUsageFile, var file = try? UsageFile(in: path) else { return }
        try? file.recount()
        try? file.checkRoom(forBundleOf: bytes, upTo: limits.totalContentBytes, limits)
    }

    /// Runs `body`, which removes bundles and returns their sizes, and subtracts them from the usage.
    ///
    /// If the directory can't be listed, `body` doesn't run.
    package func withRemovals(_ body: () -> [UInt64]) throws(SystemError) {
        // Don't create files in a directory that no test has written to.
        guard hasUsageFile else {
            _ = body()
            return
        }
        var file = try UsageFile(in: path)
        for size in body() { file.usage.remove(bundle: size) }
        file.save()
    }
}

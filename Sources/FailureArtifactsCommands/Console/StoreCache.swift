internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

/// A cache of large stores extracted from bundles, so that later commands open them at once.
///
/// Any process may remove any cached file at any time. Each process works in its own directory beside the cached
/// files, and moves or links files between the two. Two processes therefore never share a file that either of them may
/// change or remove.
struct StoreCache {
    /// The maximum total size of the cached files, in bytes.
    static let standardLimit: UInt64 = 2 << 30
    /// The minimum size of a cached store, in bytes.
    ///
    /// Smaller stores are extracted quickly.
    static let standardMinimum: UInt64 = 8 << 20

    /// The modification time of every cached file: the start of 2000.
    ///
    /// Any write to a file changes it.
    private static let mark = Timestamp(seconds: 946_684_800)
    private static let suffix = ".sqlite"
    private static let leasePrefix = "lease-"

    let directory: String
    let limit: UInt64
    let minimum: UInt64

    init(directory: String, limit: UInt64 = standardLimit, minimum: UInt64 = standardMinimum) {
        self.directory = directory
        self.limit = limit
        self.minimum = minimum
    }

    /// Creates the cache that the environment configures.
    ///
    /// `FAILURE_ARTIFACTS_CACHE` is a directory or `off`. By default, the cache is in the system's cache directory.
    ///
    /// - Parameter environment: The environment variables. The result is nil if the default location needs `HOME` and
    ///   it isn't set.
    init?(environment: [String: String]) {
        func path(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        if let given = path("FAILURE_ARTIFACTS_CACHE") {
            guard given != "off" else { return nil }
            self.init(directory: Path.absolute(given))
            return
        }
        #if canImport(Darwin)
        let parent = path("HOME").map { Path.join($0, "Library/Caches") }
        #else
        // The specification says to ignore relative paths: https://specifications.freedesktop.org/basedir-spec.
        let given = path("XDG_CACHE_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        let parent = given ?? path("HOME").map { Path.join($0, ".cache") }
        #endif
        guard let parent else { return nil }
        self.init(directory: Path.join(parent, "failure-artifacts"))
    }

    /// True if a store of `size` bytes is cached.
    func keeps(size: UInt64) -> Bool { size >= minimum && size <= limit }

    /// Returns the cache key of a store.
    ///
    /// Other bundles, and the same bundle after it is rewritten, have different keys.
    ///
    /// - Parameters:
    ///   - name: The name of the store's entry.
    ///   - bundle: The bundle.
    /// - Returns: A file name; nil if there is no such entry or the bundle's file no longer exists.
    func key(ofEntry name: String, in bundle: BundleReader) -> String? {
        guard let entry = bundle.archive.entry(named: name),
            let file = try? FileSystem.status(of: bundle.location.path)
        else { return nil }
        var facts = [
            entry.name, bundle.location.inner ?? "", String(file.size), String(file.modified),
        ]
        for other in bundle.archive.entries { facts += [other.name, String(other.crc32)] }
        // The checksums cover all entries, including the metadata.
        var hash = FNV1a()
        hash.add(facts.joined(separator: "\0").utf8)
        return [UInt64(entry.crc32), entry.size, hash.value].map { String($0, radix: 16) }
            .joined(separator: "-") + Self.suffix
    }

    // MARK: Leases

    /// A process's working directory while it uses a cached file.
    struct Lease: ~Copyable {
        let directory: String
        /// The lock that shows other processes that the directory is in use.
        private let lock: File

        init(in parent: String, prefix: String) throws(SystemError) {
            let path = try FileSystem.createUniqueDirectory(in: parent, prefix: prefix)
            let file = try File(reading: path)
            _ = try file.tryLock()
            directory = path
            lock = file
        }

        /// Removes the directory.
        borrowing func end() {
            try? FileSystem.remove(directory)
        }
    }

    /// Begins to use the cache.
    ///
    /// - Returns: A lease; nil if the cache can't be written to or other users may change it.
    func lease() -> Lease? {
        do throws(SystemError) {
            try FileSystem.createDirectory(directory)
            guard let status = try FileSystem.status(of: directory), status.kind == .directory,
                status.owner == geteuid(), status.permissions & 0o022 == 0
            else { return nil }
            return try Lease(in: directory, prefix: Self.leasePrefix)
        } catch {
            return nil
        }
    }

    // MARK: Kept files

    /// Links a cached file to a path in a lease, for reading only.
    ///
    /// Returns false if there is no valid cached file.
    func link(_ key: String, to path: String, size: UInt64) -> Bool {
        let kept = Path.join(directory, key)
        guard (try? FileSystem.link(kept, as: path)) != nil else { return false }
        return accept(path, size: size, orRemove: kept)
    }

    /// Moves a cached file to a path in a lease, where it may be changed.
    ///
    /// Returns false if there is no valid cached file or another process is reading it.
    func take(_ key: String, to path: String, size: UInt64) -> Bool {
        let kept = Path.join(directory, key)
        guard (try? FileSystem.rename(kept, to: path)) != nil else { return false }
        // The file no longer has its cached name, so no other process can begin to read it.
        if let status = try? FileSystem.status(of: path), status.links > 1 {
            try? FileSystem.link(path, as: kept)
            try? FileSystem.remove(path)
            return false
        }
        return accept(path, size: size, orRemove: nil)
    }

    private func accept(_ path: String, size: UInt64, orRemove kept: String?) -> Bool {
        if isUnchanged(path, size: size) {
            // The access time is the time of last use, which determines the order of eviction.
            try? FileSystem.setTimes(of: path, accessed: .now, modified: Self.mark)
            return true
        }
        try? FileSystem.remove(path)
        if let kept { try? FileSystem.remove(kept) }
        return false
    }

    /// True if a file is unchanged since ``mark(_:)``.
    private func isUnchanged(_ path: String, size: UInt64) -> Bool {
        guard let status = try? FileSystem.status(of: path) else { return false }
        return status.kind == .regular && status.size == size && status.owner == geteuid()
            && status.permissions & 0o077 == 0 && status.modified == Self.mark.nanoseconds
    }

    /// Marks a file in a lease as complete, so that later changes are detected.
    func mark(_ path: String) {
        try? FileSystem.setTimes(of: path, accessed: .now, modified: Self.mark)
    }

    /// Caches a file of a lease, unless the file or its directory changed since the file was marked.
    func keep(_ path: String, as key: String, size: UInt64) {
        let lease = Path.directory(of: path)
        guard isUnchanged(path, size: size),
            (try? FileSystem.contents(ofDirectory: lease)) == [Path.name(of: path)]
        else { return }
        try? FileSystem.link(path, as: Path.join(directory, key))
        makeRoom(for: 0)
    }

    /// Evicts the least recently used files until `size` more bytes fit within the limit.
    ///
    /// Also removes the directories of processes that ended before they could clean up.
    func makeRoom(for size: UInt64) {
        var files: [(path: String, status: FileStatus)] = []
        for name in (try? FileSystem.contents(ofDirectory: directory)) ?? [] {
            let path = Path.join(directory, name)
            if name.hasPrefix(Self.leasePrefix) {
                removeIfAbandoned(path)
            } else if name.hasSuffix(Self.suffix), let status = try? FileSystem.status(of: path) {
                files.append((path, status))
            }
        }
        var total = files.reduce(size) { $0 + $1.status.size }
        for file in files.sorted(by: { $0.status.accessed < $1.status.accessed }) where total > limit {
            try? FileSystem.remove(file.path)
            total -= file.status.size
        }
    }

    private func removeIfAbandoned(_ lease: String) {
        guard let file = try? File(reading: lease), (try? file.tryLock()) == true else { return }
        try? FileSystem.remove(lease)
    }
}

extension FileSystem {
    /// Creates a hard link; fails with `EEXIST` if the new name is taken.
    fileprivate static func link(_ path: String, as name: String) throws(SystemError) {
        guard systemLink(path, name) == 0 else {
            throw SystemError("link '\(path)' to", name, code: errno)
        }
    }

    /// Sets the times of a file's last access, and of the last change of its content.
    static func setTimes(
        of path: String, accessed: Timestamp, modified: Timestamp
    ) throws(SystemError) {
        let times = [accessed, modified].map {
            timespec(tv_sec: time_t($0.seconds), tv_nsec: Int($0.milliseconds) * 1_000_000)
        }
        guard utimensat(AT_FDCWD, path, times, 0) == 0 else {
            throw SystemError("change the times of", path, code: errno)
        }
    }
}

// Within `FileSystem`, `link` means the method.
private func systemLink(_ old: String, _ new: String) -> CInt { link(old, new) }

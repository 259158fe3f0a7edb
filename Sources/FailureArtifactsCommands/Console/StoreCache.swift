internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun
internal import FailureArtifactsZip

/// Large stores that were taken out of bundles, kept so that the next look at one takes no time.
///
/// All of it may be removed at any time, by anybody. Each process works in a directory of its own beside the
/// kept files and moves or links files from and to it, so that no two of them ever share a file that either
/// may change or remove.
struct StoreCache {
    /// How much is kept, in bytes.
    static let standardLimit: UInt64 = 2 << 30
    /// Smaller stores, in bytes, are out of their bundle at once.
    static let standardMinimum: UInt64 = 8 << 20

    /// Every kept file is dated back to the start of 2000: whoever writes to one gives it another date.
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

    /// The cache by the environment: `FAILURE_ARTIFACTS_CACHE` is a directory or `off`, and by default there is
    /// one where the system has its caches.
    ///
    /// - Parameter environment: The variables; the cache is nil without a `HOME`.
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
        // A relative path is to be ignored: https://specifications.freedesktop.org/basedir-spec.
        let given = path("XDG_CACHE_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        let parent = given ?? path("HOME").map { Path.join($0, ".cache") }
        #endif
        guard let parent else { return nil }
        self.init(directory: Path.join(parent, "failure-artifacts"))
    }

    /// Whether a store of that many bytes is kept.
    func keeps(size: UInt64) -> Bool { size >= minimum && size <= limit }

    /// What a store is kept under: another bundle, or the same one written anew, never has the same key.
    ///
    /// - Parameters:
    ///   - name: The entry with the store.
    ///   - bundle: The bundle.
    /// - Returns: A file name; nil if there is no such entry, or the bundle's file is gone.
    func key(ofEntry name: String, in bundle: BundleReader) -> String? {
        guard let entry = bundle.archive.entry(named: name),
            let file = try? FileSystem.status(of: bundle.location.path)
        else { return nil }
        var facts = [
            entry.name, bundle.location.inner ?? "", String(file.size), String(file.modified),
        ]
        for other in bundle.archive.entries { facts += [other.name, String(other.crc32)] }
        // The checksums of all entries are in it, the metadata's among them.
        var hash = FNV1a()
        hash.add(facts.joined(separator: "\0").utf8)
        return [UInt64(entry.crc32), entry.size, hash.value].map { String($0, radix: 16) }
            .joined(separator: "-") + Self.suffix
    }

    // MARK: Leases

    /// A directory of one process, for as long as it has one of the kept files.
    struct Lease: ~Copyable {
        let directory: String
        /// Tells others that the directory is in use.
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
    /// - Returns: Nil where it cannot be used: it cannot be written to, or others may change what is in it.
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

    /// Links a kept file to a path in a lease, for reading only; false where there is none.
    func link(_ key: String, to path: String, size: UInt64) -> Bool {
        let kept = Path.join(directory, key)
        guard (try? FileSystem.link(kept, as: path)) != nil else { return false }
        return accept(path, size: size, orRemove: kept)
    }

    /// Moves a kept file to a path in a lease, where it may be changed; false where there is none, or somebody
    /// is reading it.
    func take(_ key: String, to path: String, size: UInt64) -> Bool {
        let kept = Path.join(directory, key)
        guard (try? FileSystem.rename(kept, to: path)) != nil else { return false }
        // Now that it has no name here, nobody can begin to read it.
        if let status = try? FileSystem.status(of: path), status.links > 1 {
            try? FileSystem.link(path, as: kept)
            try? FileSystem.remove(path)
            return false
        }
        return accept(path, size: size, orRemove: nil)
    }

    private func accept(_ path: String, size: UInt64, orRemove kept: String?) -> Bool {
        if isUnchanged(path, size: size) {
            // The date of use, by which the oldest goes first.
            try? FileSystem.setTimes(of: path, accessed: .now, modified: Self.mark)
            return true
        }
        try? FileSystem.remove(path)
        if let kept { try? FileSystem.remove(kept) }
        return false
    }

    /// Whether a file is as ``mark(_:)`` left it.
    private func isUnchanged(_ path: String, size: UInt64) -> Bool {
        guard let status = try? FileSystem.status(of: path) else { return false }
        return status.kind == .regular && status.size == size && status.owner == geteuid()
            && status.permissions & 0o077 == 0 && status.modified == Self.mark.nanoseconds
    }

    /// Says that a file in a lease is complete, and what it should be.
    func mark(_ path: String) {
        try? FileSystem.setTimes(of: path, accessed: .now, modified: Self.mark)
    }

    /// Keeps a file of a lease, unless it or anything beside it was changed since it was marked.
    func keep(_ path: String, as key: String, size: UInt64) {
        let lease = Path.directory(of: path)
        guard isUnchanged(path, size: size),
            (try? FileSystem.contents(ofDirectory: lease)) == [Path.name(of: path)]
        else { return }
        try? FileSystem.link(path, as: Path.join(directory, key))
        makeRoom(for: 0)
    }

    /// Removes what was not used for longest until `size` more bytes are within the limit, and what processes
    /// have left that ended before they could tidy up.
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

extension Console {
    /// What is done with a store.
    enum StoreUse {
        /// It is read by a connection that cannot write.
        case reading
        /// It is given to somebody who may change it.
        case changing
    }

    /// Takes a store out of a bundle and runs `body` with the file, which is gone afterwards.
    ///
    /// A large store is kept for the next time; see ``StoreCache``.
    ///
    /// - Parameters:
    ///   - choice: The copy in the bundle.
    ///   - bundle: The bundle.
    ///   - scratch: A directory where it has room.
    ///   - use: Whether it will be changed.
    ///   - body: Gets the file's path; its name is the one it has in the bundle.
    /// - Returns: What `body` returns.
    /// - Throws: That there is no such entry, that it is damaged, or what `body` throws.
    func withStore<Result>(
        _ choice: StoreChoice, of bundle: BundleReader, scratch: String, for use: StoreUse,
        _ body: (_ path: String) throws -> Result
    ) throws -> Result {
        guard let size = bundle.size(ofEntry: choice.entry),
            let cache = StoreCache(environment: environment), cache.keeps(size: size),
            let key = cache.key(ofEntry: choice.entry, in: bundle), let lease = cache.lease()
        else { return try body(bundle.extract(choice, below: scratch)) }

        interruption.add(directory: lease.directory)
        defer {
            lease.end()
            interruption.remove(directory: lease.directory)
        }
        let file = Path.join(lease.directory, choice.fileName)
        let isKept =
            use == .reading
            ? cache.link(key, to: file, size: size) : cache.take(key, to: file, size: size)
        if !isKept {
            cache.makeRoom(for: size)
            do {
                try bundle.extract(entryNamed: choice.entry, toNewFile: file)
            } catch {
                guard case .system = error.reason else { throw error }
                // There may be room for it elsewhere.
                return try body(bundle.extract(choice, below: scratch))
            }
            cache.mark(file)
            if use == .reading { cache.keep(file, as: key, size: size) }
        }
        // What was open to changes is kept only if there were none.
        defer { if use == .changing { cache.keep(file, as: key, size: size) } }
        return try body(file)
    }

    /// The same for a state of the store's history, which is rebuilt each time; nil is the copy itself.
    func withStore<Result>(
        _ choice: StoreChoice, at commit: CommitReference?, of bundle: BundleReader, scratch: String,
        for use: StoreUse, _ body: (StoreFile) throws -> Result
    ) throws -> Result {
        if commit != nil { return try body(bundle.extract(choice, at: commit, below: scratch)) }
        return try withStore(choice, of: bundle, scratch: scratch, for: use) { path in
            try body(StoreFile(path: path, state: nil))
        }
    }
}

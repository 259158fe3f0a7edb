internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

extension Console {
    /// The purpose of extracting a store.
    enum StoreUse {
        /// A read-only connection reads the store.
        case reading
        /// The store is passed to code that may change it.
        case changing
    }

    /// Extracts a store from a bundle, runs `body` with the file, and removes the file afterwards.
    ///
    /// Large stores are cached; see ``StoreCache``.
    ///
    /// - Parameters:
    ///   - choice: The copy in the bundle.
    ///   - bundle: The bundle.
    ///   - scratch: A directory for the extracted store.
    ///   - use: The purpose, which determines whether the store may be changed.
    ///   - body: Receives the file's path, whose last component is the store's name in the bundle.
    /// - Returns: The result of `body`.
    /// - Throws: An error if the entry is missing or damaged, or the error that `body` throws.
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
                // The scratch directory may have more free space.
                return try body(bundle.extract(choice, below: scratch))
            }
            cache.mark(file)
            if use == .reading { cache.keep(file, as: key, size: size) }
        }
        // A file that `body` could change is cached only if it is unchanged.
        defer { if use == .changing { cache.keep(file, as: key, size: size) } }
        return try body(file)
    }

    /// Runs `body` with a state of the store's history, which is rebuilt each time, or with the copy if `commit` is
    /// nil.
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

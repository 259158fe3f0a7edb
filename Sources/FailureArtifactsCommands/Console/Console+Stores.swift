internal import FailureArtifactsTestRun
internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

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
            // What another bundle holds is kept under its key, as long as it is that bundle.
            let content = try? bundle.content(ofEntry: choice.entry, scratchDirectory: scratch),
            let key = cache.key(of: content), let lease = cache.lease()
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

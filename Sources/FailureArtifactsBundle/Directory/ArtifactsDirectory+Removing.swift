package import FailureArtifactsSystem

// Bundles that nobody wants any more.
extension ArtifactsDirectory {
    /// A bundle's file, as it was when it was looked at.
    package struct BundleFile: Sendable {
        package let name: String
        package let identity: FileStatus.Identity

        package init(name: String, identity: FileStatus.Identity) {
            self.name = name
            self.identity = identity
        }
    }

    /// What became of a bundle that was to be removed.
    package enum Removal: Equatable, Sendable {
        /// It is not there any more, and had so many bytes.
        case removed(UInt64)
        /// Somebody else has removed it, or put another file in its place.
        case gone
        /// Whoever made it is not done with it.
        case inUse
        /// A bundle that came meanwhile refers to it.
        case needed
        case failed(SystemError)
    }

    /// Removes bundles in one step for all who count: none of them gets a reference to one, or is counted twice.
    ///
    /// - Parameters:
    ///   - files: The bundles.
    ///   - needed: Gets the names of all zips that are there now; says which of them have to stay. Others wait
    ///     for it.
    /// - Returns: For each file what became of it.
    /// - Throws: That the account cannot be had, or the directory not be listed; then all are there.
    package func removeBundles(
        _ files: [BundleFile], except needed: (_ names: [String]) -> Set<String>
    ) throws(SystemError) -> [Removal] {
        // Where nobody has ever counted nobody writes either, and no files of ours are to be left.
        guard try isCounted else {
            return try remove(files, except: needed)
        }
        return try withAccount { (account, accountFile) throws(SystemError) in
            let isListed = try changed() == account.listed
            let removals = try remove(files, except: needed)
            // Others, such as A.ZIP, were never counted.
            for case (let file, .removed(let bytes)) in zip(files, removals)
            where file.name.hasSuffix(".zip") {
                account.remove(bundle: bytes)
            }
            // Who dies before this leaves numbers that are too high, which is noticed.
            if isListed, let changed = try? changed() { account.listed = changed }
            try? accountFile.write(account)
            return removals
        }
    }

    /// Whether processes agree here on what there may be.
    private var isCounted: Bool {
        get throws(SystemError) {
            for name in [AccountFile.name, SharedStores.folder]
            where try FileSystem.status(of: Path.join(path, name)) != nil { return true }
            return hasHiddenFiles
        }
    }

    private func remove(
        _ files: [BundleFile], except needed: ([String]) -> Set<String>
    ) throws(SystemError) -> [Removal] {
        let names: [String]
        do throws(SystemError) {
            names = try FileSystem.contents(ofDirectory: path)
        } catch {
            // Discarding the last capture also removes the directory, if there is no bundle in it.
            guard error.isNotFound else { throw error }
            return files.map { _ in .gone }
        }
        let kept = needed(names.filter { $0.hasSuffix(".zip") })
        // Its process, or who finishes what that has left, takes it off the account by what is there.
        let unfinished = Set(try allSpools().compactMap(\.bundleName))
        return files.map { file in
            if unfinished.contains(file.name) { return .inUse }
            if kept.contains(file.name) { return .needed }
            let path = Path.join(path, file.name)
            do throws(SystemError) {
                guard let status = try FileSystem.statusWithoutFollowing(path), status.kind == .regular,
                    status.identity == file.identity
                else { return .gone }
                try FileSystem.removeFile(path)
                return .removed(status.size)
            } catch {
                return error.isNotFound ? .gone : .failed(error)
            }
        }
    }

    /// Removes the notes on shared stores whose bundle is gone: later bundles would find nothing by them.
    package func removeStaleNotes() {
        let folder = Path.join(path, SharedStores.folder)
        for name in (try? FileSystem.contents(ofDirectory: folder)) ?? [] {
            let note = Path.join(folder, name)
            // Who has one locked is about to pack the store, or compares it.
            guard let file = try? File(updating: note), (try? file.tryLock()) == true else { continue }
            defer { file.unlock() }
            if let holder = SharedStores.reference(in: file)?.bundle,
                (try? FileSystem.status(of: Path.join(path, holder))) != .some(nil)
            {
                continue
            }
            try? FileSystem.removeFile(note)
        }
    }
}

package import FailureArtifactsSystem

/// The directory that bundles go to, shared by all processes of a run.
///
/// Nothing is created before the first failure. Bundles in the making are in a hidden sub-directory, so that
/// uploads and readers see whole bundles only.
package struct ArtifactsDirectory: Sendable {
    /// Absolute.
    package let path: String
    /// Who may read its bundles.
    package let readers: BundleReaders

    package init(path: String, readers: BundleReaders = .owner) {
        self.path = Path.absolute(path)
        self.readers = readers
    }

    /// What is not finished: the journals and captures of running tests, hidden from uploads.
    private var inFlight: String { Path.join(path, ".in-flight") }

    /// Creates the directory where it is missing.
    package func prepare() throws(SystemError) {
        try FileSystem.createDirectory(path)
        haveItIgnored()
    }

    private var ignoreFile: String { Path.join(path, ".gitignore") }

    /// Has git ignore what is in the directory; on a full disk it does without.
    private func haveItIgnored() {
        do throws(SystemError) {
            try FileSystem.write(Array("*\n".utf8), toNewFile: ignoreFile)
        } catch {
            // One without content would be in the way of the next attempt.
            if !error.isAlreadyExists { try? FileSystem.remove(ignoreFile) }
        }
    }

    /// Whether some process has left something here, or is at work.
    package var hasHiddenFiles: Bool { (try? FileSystem.status(of: inFlight)) != nil }

    /// What is not packed yet, of all processes, as far as it can be seen.
    package var spools: [Spool] { (try? allSpools()) ?? [] }

    /// What is not packed yet, of all processes.
    ///
    /// - Throws: The failure to look.
    func allSpools() throws(SystemError) -> [Spool] {
        try hiddenNames().compactMap { Spool(at: Path.join(inFlight, $0)) }
    }

    private func hiddenNames() throws(SystemError) -> [String] {
        do throws(SystemError) {
            return try FileSystem.contents(ofDirectory: inFlight)
        } catch {
            guard error.isNotFound else { throw error }
            return []
        }
    }

    /// Creates a hidden directory in which one capture is put together, whether there is room or not.
    func makeUncountedSpool(of process: ProcessIdentity) throws(SystemError) -> Spool {
        try inHiddenDirectory { () throws(SystemError) in try Spool(in: inFlight, of: process) }
    }

    // MARK: Journals

    /// The journals of all processes, as far as they can be seen.
    var journals: [Journal] { (try? allJournals()) ?? [] }

    /// The journals of all processes.
    ///
    /// - Throws: The failure to look.
    func allJournals() throws(SystemError) -> [Journal] {
        try hiddenNames().compactMap { Journal(at: Path.join(inFlight, $0)) }
    }

    /// Creates the journal of a process, see ``InFlightJournal``.
    func makeJournal(of process: ProcessIdentity) throws(SystemError) -> File {
        try inHiddenDirectory { () throws(SystemError) in
            let path = Path.join(inFlight, Journal.name(of: process))
            // One that this process has left with an earlier configuration.
            try FileSystem.remove(path)
            return try File(creating: path)
        }
    }

    /// Removes the journal of a process, and what was created only for it.
    func removeJournal(of process: ProcessIdentity) {
        try? FileSystem.remove(Path.join(inFlight, Journal.name(of: process)))
        removeIfEmpty()
    }

    /// Runs `body` where the hidden directory exists.
    private func inHiddenDirectory<Result: ~Copyable>(
        _ body: () throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        for _ in 0..<100 {
            try FileSystem.createDirectory(inFlight)
            do {
                return try body()
            } catch  where error.isNotFound {
                // Another process has just removed the last of its own, and the hidden directory with it.
                continue
            }
        }
        return try body()
    }

    /// Removes the hidden directory when nothing is in it; and the directory itself, if nothing is in that
    /// either and it was created here: a directory of somebody else's has other permissions.
    package func removeIfEmpty() {
        do throws(SystemError) {
            // Fails where other captures are under way, as it should.
            try FileSystem.removeEmptyDirectory(inFlight)
            guard try FileSystem.status(of: path)?.permissions == FileSystem.directoryPermissions,
                try isEmptyButForOurs
            else { return }
            try removeAccount { () throws(SystemError) in
                guard try isEmptyButForOurs else { return }
                try FileSystem.remove(ignoreFile)
                try FileSystem.remove(Path.join(path, SharedStores.folder))
                try FileSystem.remove(Path.join(path, AccountLine.name))
            }
            try FileSystem.removeEmptyDirectory(path)
        } catch {}
    }

    private var isEmptyButForOurs: Bool {
        get throws(SystemError) {
            let ours = [
                Path.name(of: ignoreFile), AccountFile.name, AccountLine.name, SharedStores.folder,
            ]
            return try FileSystem.contents(ofDirectory: path).allSatisfy { ours.contains($0) }
        }
    }

    // MARK: Bundles

    /// Gives the packed bundle of a spool its name, in one step.
    ///
    /// - Parameters:
    ///   - file: The bundle, synced, inside the spool.
    ///   - spool: The spool.
    ///   - test: The test whose bundle it is.
    ///   - limits: What the directory may hold.
    ///   - outcome: How the test ended.
    ///   - holders: The names of the bundles that it refers to: where one of them is gone it gets no name.
    ///   - warn: Gets a full sentence on what went wrong although the bundle has its name.
    /// - Returns: The bundle's path.
    /// - Throws: A `SystemError`, the failure to rename it, ``LimitReached`` or ``HolderGone``; it then stays where it
    ///   is.
    package func publish(
        _ file: String, of spool: Spool, _ test: BundleMetadata.Test, within limits: DirectoryLimits,
        outcome: BundleMetadata.Outcome = .failed, referringTo holders: Set<String> = [],
        warn: (String) -> Void = { _ in }
    ) throws -> String {
        do throws(SystemError) {
            try openToReaders(file)
        } catch {
            warn("The bundle is its owner's alone: \(error).")
        }
        // Should this process die between the bundle's appearance and the spool's end, whoever finds the spool
        // knows that there is a bundle.
        while true {
            let name = BundleName(test: test, suffix: outcome.nameSuffix).description
            try spool.recordBundleName(name)
            let target = Path.join(path, name)
            var isHolderGone = false
            do {
                try count(spool, asBundle: file, within: limits) { () throws(SystemError) in
                    // Whoever removes bundles does so in such a call too: what is here stays.
                    // One that can't be seen counts as gone.
                    for holder in holders.map({ Path.join(path, $0) })
                    where FileSystem.regularFile(holder) == nil {
                        isHolderGone = true
                        throw SystemError("find", holder, code: ENOENT)
                    }
                    try FileSystem.renameExclusively(file, to: target)
                }
            } catch is SystemError where isHolderGone {
                throw HolderGone()
            } catch let error as SystemError where error.isAlreadyExists {
                // One in four thousand million times, or where somebody prepared it: another random part.
                continue
            }
            // From here on there is a bundle: whoever made another one of the same test would be wrong.
            do throws(SystemError) {
                try FileSystem.synchronizeDirectory(path)
            } catch  where error.code == EINVAL || error.code == ENOTSUP {
                // There are file systems that know no such thing.
            } catch {
                warn("The bundle's name may not survive a loss of power: \(error).")
            }
            haveItIgnored()
            return target
        }
    }

    /// Has others read a bundle, and find it, where that was asked for.
    private func openToReaders(_ file: String) throws(SystemError) {
        guard readers != .owner else { return }
        try FileSystem.setPermissions(readers.filePermissions, of: file)
        // A directory of somebody else's keeps what it has.
        guard try FileSystem.status(of: path)?.permissions == FileSystem.directoryPermissions else {
            return
        }
        try FileSystem.setPermissions(readers.directoryPermissions, of: path)
    }

    /// The bundle that a spool was packed into before its process died; nil where it was not.
    func bundle(of spool: Spool) -> String? {
        (try? spool.read()).flatMap { content in (try? bundle(of: content)) ?? nil }
    }

    /// As above.
    ///
    /// - Throws: The failure to look for it.
    func bundle(of spool: Spool.Content) throws(SystemError) -> String? {
        guard let name = spool.bundleName else { return nil }
        let bundle = Path.join(path, name)
        return try FileSystem.status(of: bundle) == nil ? nil : bundle
    }

    /// Removes a spool, and the hidden directory with the last of them.
    package func discard(_ spool: Spool) {
        remove(spool)
        removeIfEmpty()
    }
}

/// The end of a bundle that refers to another one, which somebody has removed meanwhile.
struct HolderGone: Error {}

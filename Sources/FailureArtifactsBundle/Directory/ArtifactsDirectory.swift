package import FailureArtifactsSystem

/// The directory for bundles, shared by all processes of a run.
///
/// It is not created before the first failure. Unfinished bundles are in a hidden sub-directory, so that uploads and
/// readers see only complete bundles.
package struct ArtifactsDirectory: Sendable {
    /// The absolute path.
    package let path: String
    /// The users who may read the bundles.
    package let readers: BundleAccess
    /// The maximum time to wait for the directory's lock, in seconds.
    ///
    /// A hundred processes on two busy cores took more than one second.
    let lockPatience: Double

    /// The environment variable with the directory's path, and the name that is used by default.
    package static let variable = "FAILURE_ARTIFACTS_DIR"
    package static let defaultName = "failure-artifacts"

    package init(path: String, readers: BundleAccess = .owner, lockPatience: Double = 5) {
        self.path = Path.absolute(path)
        self.readers = readers
        self.lockPatience = lockPatience
    }

    /// The directory with the recorders and captures of running tests, hidden from uploads.
    var inFlight: String { Path.join(path, ".in-flight") }

    /// Creates the directory where it is missing.
    package func prepare() throws(SystemError) {
        try FileSystem.createDirectory(path)
        haveItIgnored()
    }

    private var ignoreFile: String { Path.join(path, ".gitignore") }

    /// Makes git ignore the directory's content, unless the disk is full.
    private func haveItIgnored() {
        do throws(SystemError) {
            try FileSystem.write(Array("*\n".utf8), toNewFile: ignoreFile)
        } catch {
            // An empty file would prevent the next attempt.
            if !error.isAlreadyExists { try? FileSystem.remove(ignoreFile) }
        }
    }

    /// True if a process is capturing, or has left files behind.
    package var hasHiddenFiles: Bool { (try? isInFlightLinked) == false }

    /// True if the hidden directory's name is a link, which others may have made; nil without the name.
    private var isInFlightLinked: Bool? {
        get throws(SystemError) {
            try FileSystem.statusWithoutFollowing(inFlight).map { $0.kind == .other }
        }
    }

    package var stagingDirectories: [StagingDirectory] { (try? allStagingDirectories()) ?? [] }

    /// Lists the captures of all processes that are not packed yet.
    package func allStagingDirectories() throws(SystemError) -> [StagingDirectory] {
        try hiddenNames().compactMap { StagingDirectory(at: Path.join(inFlight, $0)) }
    }

    /// Lists the names in the hidden directory; none if the directory doesn't exist.
    ///
    /// Fails with `ELOOP` for a link, which is never followed.
    func hiddenNames() throws(SystemError) -> [String] {
        do throws(SystemError) {
            guard try isInFlightLinked != true else {
                throw SystemError("list", inFlight, code: ELOOP)
            }
            return try FileSystem.contents(ofDirectory: inFlight)
        } catch {
            guard error.isNotFound else { throw error }
            return []
        }
    }

    /// Creates the hidden directory of one capture; throws a `SystemError` or ``LimitReached``.
    func makeStagingDirectory(of process: ProcessIdentity, within limits: DirectoryLimits) throws
        -> StagingDirectory
    {
        let lock = DirectoryLock(of: self)
        // A capture that has begun keeps its place, unless the oldest bundle makes room for it. One whose bundle exists
        // is counted with the bundles.
        let begun =
            limits.removesOldest
            ? 0
            : stagingDirectories.count { staging in
                let bundle = staging.bundleName.map { Path.join(path, $0) }
                return bundle.map { FileSystem.regularFile($0) == nil } ?? true
            }
        // No bundle is smaller than one byte.
        try lock.checkRoom(forBundleOf: 1, upTo: limits.totalBytes, besides: begun, limits)
        return try inHiddenDirectory { () throws(SystemError) in
            try StagingDirectory(in: inFlight, of: process)
        }
    }

    /// Creates the hidden directory, then runs `body`.
    ///
    /// A link of that name is removed: its target may be a directory of another user.
    func inHiddenDirectory<Result: ~Copyable>(
        _ body: () throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        for _ in 0..<100 {
            if try isInFlightLinked == true { try FileSystem.removeFile(inFlight) }
            try FileSystem.createDirectory(inFlight)
            // A run as root doesn't lock out the user of the artifacts directory.
            FileSystem.giveAway(inFlight, toOwnerOf: path)
            do {
                return try body()
            } catch  where error.isNotFound {
                // Another process has just removed its last capture, and the hidden directory with it.
                continue
            }
        }
        return try body()
    }

    /// Removes the hidden directory if it is empty, and then the artifacts directory if that is empty too.
    ///
    /// An artifacts directory that the user has created stays: it has other permissions.
    package func removeIfEmpty() {
        do throws(SystemError) {
            // Fails while there are other captures.
            try FileSystem.removeEmptyDirectory(inFlight)
            guard try FileSystem.status(of: path)?.permissions == FileSystem.directoryPermissions,
                try FileSystem.contents(ofDirectory: path).allSatisfy({ ours.contains($0) })
            else { return }
            for name in ours { try FileSystem.remove(Path.join(path, name)) }
            do {
                try FileSystem.removeEmptyDirectory(path)
            } catch {
                // Another process has just begun a capture.
                haveItIgnored()
            }
        } catch {}
    }

    /// The names of the files to be removed with the last capture.
    private var ours: [String] {
        [Path.name(of: ignoreFile), DirectoryLock.fileName, Path.name(of: passesFile)]
    }

    // MARK: Bundles

    /// Packs a staging directory, renames the bundle to its final name, and returns its path and the text of its
    /// `README.txt`.
    ///
    /// `warn` receives failures after which there is a bundle all the same. Otherwise this throws a `ZipError`, a
    /// `SystemError` or ``LimitReached``.
    package func publish(
        _ metadata: BundleMetadata, from staging: StagingDirectory, within limits: DirectoryLimits,
        date: Timestamp = .now, warn: (String) -> Void = { _ in }
    ) throws -> (path: String, readMe: String) {
        let (file, readMe) = try BundlePacker.pack(metadata, from: staging, date: date)
        let size = FileSystem.regularFile(file)?.size ?? 0
        guard size <= limits.bundleBytes else {
            throw LimitReached(limit: .bundleBytes, path: path, limits: limits)
        }
        do throws(SystemError) {
            try openToReaders(file)
        } catch {
            warn("The bundle is its owner's alone: \(error).")
        }
        let lock = DirectoryLock(of: self)
        // A part of the limit is reserved for bundles without copies.
        let maximum = metadata.entries.isEmpty ? limits.totalBytes : limits.totalContentBytes
        try lock.checkRoom(forBundleOf: size, upTo: maximum, limits)
        let bundle = try rename(file, of: staging, test: metadata.test, metadata.outcome)
        lock.close()
        // From here on the bundle exists: an error would lead to a second one of the same test.
        do throws(SystemError) {
            try FileSystem.synchronizeDirectory(path)
        } catch  where error.code == EINVAL || error.code == ENOTSUP {
            // Some file systems can't sync directories.
        } catch {
            warn("The bundle's name may not survive a loss of power: \(error).")
        }
        haveItIgnored()
        return (bundle, readMe)
    }

    /// Chooses the name of a failing test's bundle in advance, and returns the path that it will have.
    package func reserveName(
        of test: BundleMetadata.Test, for staging: StagingDirectory
    ) throws(SystemError) -> String {
        let name = BundleName(test: test).description
        try staging.recordBundleName(name)
        return Path.join(path, name)
    }

    /// Renames a packed bundle to its final name, atomically.
    private func rename(
        _ file: String, of staging: StagingDirectory, test: BundleMetadata.Test,
        _ outcome: BundleMetadata.Outcome
    ) throws(SystemError) -> String {
        let stem = BundleName.stem(of: test, suffix: outcome.nameSuffix)
        var reserved = staging.bundleName.flatMap { BundleName.isName($0, with: stem) ? $0 : nil }
        while true {
            let name = reserved ?? BundleName(test: test, suffix: outcome.nameSuffix).description
            reserved = nil
            // If this process dies before it removes the staging directory, crash recovery finds the bundle by this
            // name.
            try staging.recordBundleName(name)
            let target = Path.join(path, name)
            do {
                try FileSystem.renameExclusively(file, to: target)
                return target
            } catch  where error.isAlreadyExists {
                // Try another random part.
            }
        }
    }

    /// Lets other users read a bundle and list the directory, if the configuration allows it.
    private func openToReaders(_ file: String) throws(SystemError) {
        guard readers != .owner else { return }
        try FileSystem.setPermissions(readers.filePermissions, of: file)
        // A directory that the user has created keeps its permissions.
        guard try FileSystem.status(of: path)?.permissions == FileSystem.directoryPermissions else {
            return
        }
        try FileSystem.setPermissions(readers.directoryPermissions, of: path)
    }

    /// Finds the bundle that a staging directory was packed into before its process died; nil if it doesn't exist.
    func bundle(of staging: StagingDirectory.Content) throws(SystemError) -> String? {
        guard let name = staging.bundleName else { return nil }
        let bundle = Path.join(path, name)
        return try FileSystem.status(of: bundle) == nil ? nil : bundle
    }

    /// Returns the metadata of a staging directory of which a bundle is to be made.
    ///
    /// No bundle is made if it exists already, of copies without metadata, and of a test that ended without a failure
    /// and only asked for snapshots.
    func unpacked(_ staging: StagingDirectory.Content) throws(SystemError) -> BundleMetadata? {
        guard try bundle(of: staging) == nil, let metadata = staging.metadata,
            metadata.outcome == .passed || !(metadata.failures.isEmpty && staging.isEnded)
        else { return nil }
        return metadata
    }

    /// Removes a staging directory, and the hidden directory if this was the last one.
    package func discard(_ staging: StagingDirectory) {
        staging.remove()
        removeIfEmpty()
    }
}

// MARK: Later passes

extension ArtifactsDirectory {
    /// The hidden file with the names of bundles whose tests have passed since, one per line.
    private var passesFile: String { Path.join(path, ".passed") }

    /// The names of the bundles whose tests have passed since; empty if none are known.
    package var passedSince: Set<String> {
        // The directory may be anyone's, and a name has at most 200 bytes.
        guard let file = (try? FileSystem.statusWithoutFollowing(passesFile)) ?? nil,
            file.kind == .regular, file.size <= 4 << 20,
            let bytes = try? FileSystem.contents(ofFile: passesFile)
        else { return [] }
        return Set(
            bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) })
    }

    /// The names of the bundles of failures whose tests are not known to have passed since.
    package var failuresToPass: [String] {
        let names = ((try? FileSystem.contents(ofDirectory: path)) ?? []).filter {
            BundleName.stemOfFailure(in: $0) != nil
        }
        guard !names.isEmpty else { return [] }
        let passed = passedSince
        return names.filter { !passed.contains($0) }
    }

    /// Records that a test has passed since its bundles were made.
    package func recordPass(of test: BundleMetadata.Test) throws(SystemError) {
        let stem = BundleName.stem(of: test)
        let bundles = failuresToPass.filter { BundleName.isName($0, with: stem) }
        if bundles.isEmpty { return }
        // Processes that run at the same time must not replace each other's names.
        let lock = DirectoryLock(of: self)
        let names = passedSince.union(bundles).filter {
            FileSystem.regularFile(Path.join(path, $0)) != nil
        }
        let partial = passesFile + ".partial"
        try FileSystem.remove(partial)
        try FileSystem.write(
            Array(names.sorted().map { $0 + "\n" }.joined().utf8), toNewFile: partial)
        if readers != .owner { try FileSystem.setPermissions(readers.filePermissions, of: partial) }
        try FileSystem.rename(partial, to: passesFile)
        lock.close()
    }
}

// Bundles of tests that passed, in the same directory as those of failures.

extension BundleMetadata.Outcome {
    /// The suffix in the names of bundles with this outcome; nil for no suffix.
    var nameSuffix: String? { self == .passed ? Self.passed.rawValue : nil }
}

extension ArtifactsDirectory {
    /// Computes the maximum size of a passing test's bundle, in bytes; nil if there is no space left.
    ///
    /// All bundles of passing tests together take at most half of the directory, so that space is left for failures.
    package func roomForPassingTest(within limits: DirectoryLimits) -> UInt64? {
        guard let all = try? DirectoryUsage(of: path),
            let passing = try? DirectoryUsage(of: path, where: BundleName.isOfPassingTest),
            all.bundles < limits.bundles, passing.bundles < limits.bundles / 2
        else { return nil }
        let room = min(
            limits.totalBytes - min(all.bytes, limits.totalBytes),
            limits.totalBytes / 2 - min(passing.bytes, limits.totalBytes / 2))
        return room > 0 ? room : nil
    }
}

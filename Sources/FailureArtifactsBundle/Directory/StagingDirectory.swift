package import FailureArtifactsSystem

/// The directory with the files of one capture, before they are packed.
///
/// Each file has the path of its entry, and `metadata.json` describes the files. The directory's name includes the
/// process of the test; see ``HiddenName``. If that process dies, another process can pack the files.
package struct StagingDirectory: Sendable {
    package let path: String
    private let name: HiddenName
    /// Held by the process that owns the directory.
    private let lock: OwnerLock?

    /// Creates a staging directory; if the test is another process's, this one finishes the capture.
    init(in directory: String, of process: ProcessIdentity) throws(SystemError) {
        let name = HiddenName(Self.kind, of: process, taker: process == .current ? nil : .current)
        let path = try FileSystem.createUniqueDirectory(in: directory, prefix: name.prefix + "-")
        self.init(path: path, name, OwnerLock(of: path))
    }

    /// Parses the path of a staging directory; nil if it is anything else.
    init?(at path: String) {
        guard let name = HiddenName(Self.kind, at: path, hasRandom: true) else { return nil }
        self.init(path: path, name)
    }

    private init(path: String, _ name: HiddenName, _ lock: OwnerLock? = nil) {
        self.path = path
        self.name = name
        self.lock = lock
    }

    private static let kind = "staging"

    package var process: ProcessIdentity { name.process }

    /// True if the process that owns the directory has died.
    var isAbandoned: Bool { name.isAbandoned(at: path) }

    /// True if the process of the test has died.
    var isOfDeadProcess: Bool { name.taker != nil || isAbandoned }

    // MARK: Content

    package func file(ofEntry entry: String) -> String { Path.join(path, entry) }

    /// Returns the path of the file for an entry, after creating its directory.
    package func path(ofEntry entry: String) throws(SystemError) -> String {
        let path = file(ofEntry: entry)
        try FileSystem.createDirectory(Path.directory(of: path))
        return path
    }

    private var metadataPath: String { file(ofEntry: "metadata.json") }

    /// Records the metadata, atomically.
    package func record(_ metadata: BundleMetadata) throws(SystemError) {
        let partial = metadataPath + ".partial"
        try? FileSystem.remove(partial)
        try FileSystem.write(metadata.json(), toNewFile: partial)
        try FileSystem.rename(partial, to: metadataPath)
    }

    /// The metadata that was recorded last; nil if it is missing or can't be read.
    package var metadata: BundleMetadata? { (try? read())?.metadata }

    struct Content {
        /// The metadata that was recorded last; nil if it is missing or invalid.
        var metadata: BundleMetadata?
        /// True if the test has ended, so that nothing will be added.
        let isEnded: Bool
        /// The final name of the bundle; nil if none was chosen yet.
        ///
        /// The bundle itself may not exist.
        let bundleName: String?
    }

    func read() throws(SystemError) -> Content {
        let names = try FileSystem.contents(ofDirectory: path)
        var metadata: BundleMetadata?
        if names.contains(Path.name(of: metadataPath)) {
            let json = try FileSystem.contents(ofFile: metadataPath)
            metadata = BundleMetadata(own: json)
        }
        return Content(
            metadata: metadata, isEnded: names.contains(Path.name(of: endMark)),
            bundleName: Self.bundleName(in: names))
    }

    private var imagesPath: String { file(ofEntry: "images.json") }

    /// Records the images of the test's process, which the stacks of its statements refer to.
    ///
    /// Only the first call has an effect.
    package func record(images: String) throws(SystemError) {
        guard try FileSystem.status(of: imagesPath) == nil else { return }
        try FileSystem.write(Array(images.utf8), toNewFile: imagesPath)
    }

    /// The images that were recorded; nil if there are none or they can't be read.
    var images: LoadedImages? {
        (try? FileSystem.contents(ofFile: imagesPath)).flatMap(LoadedImages.init(json:))
    }

    private var endMark: String { file(ofEntry: "ended") }

    /// True if the test has ended; false if that can't be read.
    package var isEnded: Bool { (try? read())?.isEnded ?? false }

    /// Records that the test has ended.
    package func markEnded() throws(SystemError) {
        try FileSystem.write([], toNewFile: endMark)
    }

    /// The prefix of an empty file's name that records the bundle's name.
    ///
    /// Even a full disk takes an empty file.
    private static let bundleMark = "bundle="

    private static func bundleName(in names: [String]) -> String? {
        names.first { $0.hasPrefix(bundleMark) }.map { String($0.dropFirst(bundleMark.count)) }
    }

    /// The final name of the bundle; nil if none was chosen yet.
    ///
    /// The bundle itself may not exist.
    package var bundleName: String? {
        Self.bundleName(in: (try? FileSystem.contents(ofDirectory: path)) ?? [])
    }

    func recordBundleName(_ name: String) throws(SystemError) {
        let new = file(ofEntry: Self.bundleMark + name)
        guard let old = bundleName else { return try FileSystem.write([], toNewFile: new) }
        if old != name { try FileSystem.rename(file(ofEntry: Self.bundleMark + old), to: new) }
    }

    /// Takes over the staging directory of a dead process; returns nil if another process has it.
    ///
    /// A staging directory that can't be read keeps its name, for a sweep by its owner.
    func taken() throws(SystemError) -> StagingDirectory? {
        guard isAbandoned else { return nil }
        guard let (path, name, lock) = try name.take(path, { () throws(SystemError) in _ = try read() })
        else { return nil }
        return StagingDirectory(path: path, name, lock)
    }

    /// Removes the staging directory, as far as that is possible.
    ///
    /// This process may die meanwhile, or a file may not be removable. No bundle is made of the remaining files: they
    /// lack the metadata, name an existing bundle, or belong to a test that ended without a failure.
    package func remove() {
        do throws(SystemError) {
            try FileSystem.remove(metadataPath)
            try FileSystem.remove(path)
        } catch {
            try? markEnded()
            removeCopies()
        }
    }

    /// Removes the copies, and keeps the metadata, the mark of the test's end and the bundle's name.
    func removeCopies() {
        for name in (try? FileSystem.contents(ofDirectory: path)) ?? []
        where ![metadataPath, endMark].contains(file(ofEntry: name)) && !name.hasPrefix(Self.bundleMark)
        {
            try? FileSystem.remove(file(ofEntry: name))
        }
    }

    /// Removes everything except the bundle's name.
    package func removeContent() {
        // Without the metadata, crash recovery makes no bundle.
        try? FileSystem.remove(metadataPath)
        removeCopies()
        try? FileSystem.remove(endMark)
    }
}

/// The name of a staging directory or a recorder in the hidden directory.
///
/// It names the process of the tests and, if that has died, the process that took over. Its form is
/// `<kind>-<process>`, then `-<taker>` after a takeover, each as ``ProcessIdentity/text``. The names of staging
/// directories end in `-<random>`.
struct HiddenName {
    let kind: String
    /// The process of the tests.
    let process: ProcessIdentity
    /// The process that took over because the first one has died; nil before a takeover.
    var taker: ProcessIdentity?
    /// Six letters and digits; nil for a recorder.
    var random: String?

    init(
        _ kind: String, of process: ProcessIdentity, taker: ProcessIdentity? = nil, random: String? = nil
    ) {
        self.kind = kind
        self.process = process
        self.taker = taker
        self.random = random
    }

    /// Parses a path; nil if it is of another kind.
    init?(_ kind: String, at path: String, hasRandom: Bool) {
        var parts = Path.name(of: path).split(separator: "-", omittingEmptySubsequences: false)[...]
        guard parts.popFirst() == kind[...] else { return nil }
        let random = hasRandom ? parts.popLast().map(String.init) : nil
        func nextProcess() -> ProcessIdentity? {
            parts.count < 2 ? nil : ProcessIdentity(parts.removeFirst(), parts.removeFirst())
        }
        guard let process = nextProcess() else { return nil }
        let taker = parts.isEmpty ? nil : nextProcess()
        guard parts.isEmpty else { return nil }
        self.init(kind, of: process, taker: taker, random: random)
    }

    /// True if the process that owns the file or directory has died.
    func isAbandoned(at path: String) -> Bool { (taker ?? process).hasDied(leaving: path) }

    /// Renames the file or directory with this name, so that this process owns it, and returns the new path and name, and
    /// the lock.
    ///
    /// If several processes try, only one succeeds. The others get nil, because the path doesn't exist any more. First,
    /// `check` reads the content.
    func take(
        _ path: String, _ check: () throws(SystemError) -> Void
    ) throws(SystemError) -> (path: String, name: HiddenName, lock: OwnerLock?)? {
        let lock = OwnerLock(of: path)
        let name = HiddenName(kind, of: process, taker: .current, random: random)
        let target = Path.join(Path.directory(of: path), name.description)
        do throws(SystemError) {
            try check()
            try FileSystem.rename(path, to: target)
        } catch {
            guard error.isNotFound else { throw error }
            return nil
        }
        return (target, name, lock)
    }

    /// The name without the random part.
    var prefix: String {
        let processes = [process] + (taker.map { [$0] } ?? [])
        return processes.reduce(kind) { "\($0)-\($1.text)" }
    }

    var description: String { random.map { "\(prefix)-\($0)" } ?? prefix }
}

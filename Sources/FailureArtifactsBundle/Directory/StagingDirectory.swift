package import FailureArtifactsSystem

/// The directory with the files of one capture, before they are packed.
///
/// Each file has the path that its entry will have, and `metadata.json` describes them. The directory's name has the
/// process of the test, see ``HiddenName``. If that process dies, another one can pack the files.
package struct StagingDirectory: Sendable {
    package let path: String
    private let name: HiddenName

    /// Creates a staging directory.
    ///
    /// - Parameters:
    ///   - directory: The hidden directory.
    ///   - process: The process of the test. If it is another process, this one finishes the capture.
    /// - Throws: The failure to create its directory.
    init(in directory: String, of process: ProcessIdentity) throws(SystemError) {
        let name = HiddenName(Self.kind, of: process, taker: process == .current ? nil : .current)
        try self.init(
            path: FileSystem.createUniqueDirectory(in: directory, prefix: name.prefix + "-"), name)
    }

    /// Parses the path of a staging directory; nil if it is anything else.
    init?(at path: String) {
        guard let name = HiddenName(Self.kind, at: path, hasRandom: true) else { return nil }
        self.init(path: path, name)
    }

    private init(path: String, _ name: HiddenName) {
        self.path = path
        self.name = name
    }

    private static let kind = "spool"

    /// The process of the test.
    package var process: ProcessIdentity { name.process }

    /// True if the process that works on it has died.
    var isAbandoned: Bool { name.isAbandoned }

    // MARK: Content

    /// The file with the content of an entry.
    package func file(ofEntry entry: String) -> String { Path.join(path, entry) }

    /// The file for the content of an entry, in a directory that this creates.
    package func path(ofEntry entry: String) throws(SystemError) -> String {
        let path = file(ofEntry: entry)
        try FileSystem.createDirectory(Path.directory(of: path))
        return path
    }

    private var metadataPath: String { file(ofEntry: "metadata.json") }

    /// Records the metadata, in one step.
    package func record(_ metadata: BundleMetadata) throws(SystemError) {
        let partial = metadataPath + ".partial"
        try? FileSystem.remove(partial)
        try FileSystem.write(metadata.json(), toNewFile: partial)
        try FileSystem.rename(partial, to: metadataPath)
    }

    /// The metadata that was recorded last; nil if there is none, or it can't be read.
    package var metadata: BundleMetadata? { (try? read())?.metadata }

    /// The recorded facts of a staging directory.
    struct Content {
        /// The metadata that was recorded last; nil if there is none.
        var metadata: BundleMetadata?
        /// True if the test has ended, so that nothing is to be added.
        let isEnded: Bool
        /// The name that the bundle has or would have had; nil if it was not packed.
        let bundleName: String?
    }

    /// Reads the recorded facts.
    ///
    /// - Throws: The failure to read them.
    func read() throws(SystemError) -> Content {
        let names = try FileSystem.contents(ofDirectory: path)
        var metadata: BundleMetadata?
        if names.contains(Path.name(of: metadataPath)) {
            let json = try FileSystem.contents(ofFile: metadataPath)
            metadata = try? BundleMetadata(json: json, of: path)
        }
        return Content(
            metadata: metadata, isEnded: names.contains(Path.name(of: endMark)),
            bundleName: Self.bundleName(in: names))
    }

    private var endMark: String { file(ofEntry: "ended") }

    /// True if the test has ended; false if that can't be read.
    package var isEnded: Bool { (try? read())?.isEnded ?? false }

    /// Records that the test has ended.
    package func markEnded() throws(SystemError) {
        try FileSystem.write([], toNewFile: endMark)
    }

    /// The start of an empty file's name that ends in the bundle's name: a full disk still takes such a file.
    private static let bundleMark = "bundle="

    private static func bundleName(in names: [String]) -> String? {
        names.first { $0.hasPrefix(bundleMark) }.map { String($0.dropFirst(bundleMark.count)) }
    }

    /// The name that the bundle has or would have had; nil if it was not packed.
    var bundleName: String? {
        Self.bundleName(in: (try? FileSystem.contents(ofDirectory: path)) ?? [])
    }

    /// Records the bundle's name.
    func recordBundleName(_ name: String) throws(SystemError) {
        let new = file(ofEntry: Self.bundleMark + name)
        guard let old = bundleName else { return try FileSystem.write([], toNewFile: new) }
        if old != name { try FileSystem.rename(file(ofEntry: Self.bundleMark + old), to: new) }
    }

    /// Takes over the staging directory of a dead process; only one of several processes that try succeeds.
    func taken() throws(SystemError) -> StagingDirectory {
        let name = name.takenByThisProcess
        let target = Path.join(Path.directory(of: path), name.description)
        try FileSystem.rename(path, to: target)
        return StagingDirectory(path: target, name)
    }

    /// Removes the staging directory, as far as that is possible.
    ///
    /// No bundle is made of a rest, if this process dies meanwhile or a file can't be removed: the rest lacks the
    /// metadata, or has the name of its bundle, or has ended without a failure.
    package func remove() {
        do throws(SystemError) {
            try FileSystem.remove(metadataPath)
            try FileSystem.remove(path)
        } catch {
            try? markEnded()
            for name in (try? FileSystem.contents(ofDirectory: path)) ?? []
            where ![metadataPath, endMark].contains(file(ofEntry: name))
                && !name.hasPrefix(Self.bundleMark)
            {
                try? FileSystem.remove(file(ofEntry: name))
            }
        }
    }

    /// Removes the copies, and leaves the recorded facts.
    func removeCopies() {
        for name in (try? FileSystem.contents(ofDirectory: path)) ?? []
        where file(ofEntry: name) != metadataPath && !name.hasPrefix(Self.bundleMark) {
            try? FileSystem.remove(file(ofEntry: name))
        }
    }

    /// Removes all but the bundle's name.
    package func removeContent() {
        // Without it crash recovery makes no bundle.
        try? FileSystem.remove(metadataPath)
        for name in (try? FileSystem.contents(ofDirectory: path)) ?? []
        where !name.hasPrefix(Self.bundleMark) {
            try? FileSystem.remove(file(ofEntry: name))
        }
    }
}

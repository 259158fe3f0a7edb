package import FailureArtifactsSystem

/// The files of one capture, before they are packed: each has the path that its entry will have, and what is
/// known of them is in `metadata.json`.
///
/// The directory's name says whose it is, see ``HiddenName``. Should the process die, somebody else can pack
/// what is there.
package struct Spool: Sendable {
    package let path: String
    private let name: HiddenName

    /// Creates a spool.
    ///
    /// - Parameters:
    ///   - directory: Where.
    ///   - process: Whose capture it takes; where that is another process, it is in the hands of this one.
    /// - Throws: The failure to create its directory.
    init(in directory: String, of process: ProcessIdentity) throws(SystemError) {
        let name = HiddenName(Self.kind, of: process, taker: process == .current ? nil : .current)
        try self.init(
            path: FileSystem.createUniqueDirectory(in: directory, prefix: name.prefix + "-"), name)
    }

    /// What a path is the spool of; nil for anything else.
    init?(at path: String) {
        guard let name = HiddenName(Self.kind, at: path, hasRandom: true) else { return nil }
        self.init(path: path, name)
    }

    private init(path: String, _ name: HiddenName) {
        self.path = path
        self.name = name
    }

    private static let kind = "spool"

    /// Whose it is.
    package var process: ProcessIdentity { name.process }

    /// Whether nobody is at it any more.
    var isAbandoned: Bool { name.isAbandoned }

    // MARK: Content

    /// The file with the content of an entry.
    package func file(ofEntry entry: String) -> String { Path.join(path, entry) }

    /// Where the content of an entry is put; the directory above it exists.
    package func path(ofEntry entry: String) throws(SystemError) -> String {
        let path = file(ofEntry: entry)
        try FileSystem.createDirectory(Path.directory(of: path))
        return path
    }

    private var metadataPath: String { file(ofEntry: "metadata.json") }

    /// Records what is known, in one step.
    package func record(_ metadata: BundleMetadata) throws(SystemError) {
        let partial = metadataPath + ".partial"
        try? FileSystem.remove(partial)
        try FileSystem.write(metadata.json(), toNewFile: partial)
        try FileSystem.rename(partial, to: metadataPath)
    }

    /// What was recorded last; nil where nothing was, or it can't be read.
    package var metadata: BundleMetadata? { (try? read())?.metadata }

    /// What is known of a spool.
    struct Content {
        /// What was recorded last; nil where nothing was, or it is no metadata.
        var metadata: BundleMetadata?
        /// Whether the test has ended, so that nothing is to be added.
        let isEnded: Bool
        /// The name that the bundle has or would have had; nil where it was not packed.
        let bundleName: String?
    }

    /// Reads what is known.
    ///
    /// - Throws: The failure to read, which is no reason to take it for nothing.
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

    /// Whether the test has ended, so that nothing is to be added; false where that can't be read.
    package var isEnded: Bool { (try? read())?.isEnded ?? false }

    /// Says that the test has ended.
    package func markEnded() throws(SystemError) {
        try FileSystem.write([], toNewFile: endMark)
    }

    /// The start of the name of an empty file, whose rest is the bundle's name: the disk may be full.
    private static let bundleMark = "bundle="

    private static func bundleName(in names: [String]) -> String? {
        names.first { $0.hasPrefix(bundleMark) }.map { String($0.dropFirst(bundleMark.count)) }
    }

    /// The name that the bundle has or would have had; nil where it was not packed.
    var bundleName: String? {
        Self.bundleName(in: (try? FileSystem.contents(ofDirectory: path)) ?? [])
    }

    /// Records it.
    func recordBundleName(_ name: String) throws(SystemError) {
        let new = file(ofEntry: Self.bundleMark + name)
        guard let old = bundleName else { return try FileSystem.write([], toNewFile: new) }
        if old != name { try FileSystem.rename(file(ofEntry: Self.bundleMark + old), to: new) }
    }

    /// The same spool in the hands of this process; only one of several who try succeeds.
    func taken() throws(SystemError) -> Spool {
        let name = name.takenByThisProcess
        let target = Path.join(Path.directory(of: path), name.description)
        try FileSystem.rename(path, to: target)
        return Spool(path: target, name)
    }

    /// Removes it, as far as that is possible.
    ///
    /// What is left, should this process die meanwhile or a file not go away, is nothing to make a bundle of: it
    /// lacks the metadata, or it has the name of its bundle, or it has ended without a failure.
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

    /// Removes what the bundle holds, and leaves what is known of it.
    func removeCopies() {
        for name in (try? FileSystem.contents(ofDirectory: path)) ?? []
        where file(ofEntry: name) != metadataPath && !name.hasPrefix(Self.bundleMark) {
            try? FileSystem.remove(file(ofEntry: name))
        }
    }

    /// Removes all that is in it, and leaves what is noted of it.
    package func removeContent() {
        // Without it there is nothing to make a bundle of.
        try? FileSystem.remove(metadataPath)
        for name in (try? FileSystem.contents(ofDirectory: path)) ?? []
        where !name.hasPrefix(Self.bundleMark) {
            try? FileSystem.remove(file(ofEntry: name))
        }
    }
}

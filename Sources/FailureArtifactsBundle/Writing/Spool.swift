package import FailureArtifactsSystem

/// The files of one capture, before they are packed: each has the path that its entry will have, and what is
/// known of them is in `metadata.json`.
///
/// The directory's name says whose it is, `spool-<process>-<its start>-<random>`. Should the process die,
/// somebody else can pack what is there.
package struct Spool: Sendable {
    package let path: String
    /// Whose it is.
    package let process: ProcessIdentity

    /// Creates a spool of this process.
    init(in directory: String) throws(SystemError) {
        process = .current
        path = try FileSystem.createUniqueDirectory(in: directory, prefix: Self.prefix(process))
    }

    /// What a path is the spool of; nil for anything else.
    init?(at path: String) {
        let parts = Path.name(of: path).split(separator: "-")
        guard parts.count == 4, parts[0] == "spool", let number = Int32(parts[1]),
            let start = UInt64(parts[2])
        else { return nil }
        self.path = path
        process = ProcessIdentity(number: number, start: start)
    }

    private init(path: String, process: ProcessIdentity) {
        self.path = path
        self.process = process
    }

    private static func prefix(_ process: ProcessIdentity) -> String {
        "spool-\(process.number)-\(process.start)-"
    }

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
        try FileSystem.remove(partial)
        try FileSystem.write(metadata.json(), toNewFile: partial)
        try FileSystem.rename(partial, to: metadataPath)
    }

    /// What was recorded last; nil where nothing was, or it can't be read.
    package var metadata: BundleMetadata? {
        guard let json = try? FileSystem.contents(ofFile: metadataPath) else { return nil }
        return try? BundleMetadata(json: json, of: path)
    }

    private var endMark: String { file(ofEntry: "ended") }

    /// Whether the test has ended, so that nothing is to be added.
    package var isEnded: Bool { FileSystem.regularFile(endMark) != nil }

    /// Says so.
    package func markEnded() throws(SystemError) {
        try FileSystem.write([], toNewFile: endMark)
    }

    private static let namePrefix = "bundle="

    /// The name that the bundle has or would have had; nil where it was not packed.
    var name: String? {
        let names = (try? FileSystem.contents(ofDirectory: path)) ?? []
        return names.first { $0.hasPrefix(Self.namePrefix) }.map {
            String($0.dropFirst(Self.namePrefix.count))
        }
    }

    /// Records it, as the name of a file without content: the disk may be full.
    func recordName(_ name: String) throws(SystemError) {
        if let old = self.name { try FileSystem.remove(file(ofEntry: Self.namePrefix + old)) }
        try FileSystem.write([], toNewFile: file(ofEntry: Self.namePrefix + name))
    }

    /// The same spool as one of this process; only one of several who try succeeds.
    func taken() throws(SystemError) -> Spool {
        let random = Path.name(of: path).split(separator: "-").last ?? ""
        let target = Path.join(Path.directory(of: path), Self.prefix(.current) + random)
        try FileSystem.rename(path, to: target)
        return Spool(path: target, process: .current)
    }

    package func remove() {
        try? FileSystem.remove(path)
    }

    /// Removes all that is in it.
    package func removeContent() {
        for name in (try? FileSystem.contents(ofDirectory: path)) ?? [] {
            try? FileSystem.remove(file(ofEntry: name))
        }
    }
}

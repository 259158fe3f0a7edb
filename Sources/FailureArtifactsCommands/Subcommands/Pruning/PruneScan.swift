internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

/// The search for bundles in a directory.
struct PruneScan {
    /// The result of reading a file whose name looks like a bundle's.
    enum Finding: Sendable {
        case bundle(PruneCandidate)
        /// Another kind of file, with the reason as a full sentence.
        case other(String)
        case unreadable(CommandError)
        /// A link, a special file, or a file that no longer exists.
        case nothing
    }

    /// The maximum depth of the search, the same as for `list`.
    private static let depthLimit = 8

    /// Returns the zips in a directory and its subdirectories, without hidden files and links.
    static func files(in directory: String, depth: Int = 0) throws(SystemError) -> [String] {
        guard depth < depthLimit else { return [] }
        var files: [String] = []
        for name in try FileSystem.contents(ofDirectory: directory) where !name.hasPrefix(".") {
            let path = Path.join(directory, name)
            switch try FileSystem.statusWithoutFollowing(path)?.kind {
            case .directory: files += try Self.files(in: path, depth: depth + 1)
            case .regular where BundleLocator.isZipName(name): files.append(path)
            default: break
            }
        }
        return files
    }

    /// Reads one file.
    static func finding(at path: String, limits: ZipLimits) -> Finding {
        do {
            guard let status = try FileSystem.statusWithoutFollowing(path), status.kind == .regular
            else {
                return .nothing
            }
            return .bundle(PruneCandidate(path, status, try metadata(of: path, limits: limits)))
        } catch let error as BundleError {
            switch error.reason {
            case .noMetadata: return .other("'\(path)' is left as it is: it is a zip, but no bundle.")
            case .notFound: return .nothing
            default: break
            }
            let failure = CommandError(error)
            return failure.exitCode == .inputOutput
                ? .unreadable(failure) : .other(failure.description + " It is left as it is.")
        } catch {
            return .unreadable(CommandError(error))
        }
    }

    private static func metadata(of path: String, limits: ZipLimits) throws(BundleError)
        -> BundleMetadata
    {
        let archive = try BundleLocation(path: path).openArchive(scratchDirectory: "", limits: limits)
        guard archive.entry(named: BundleMetadata.entryName) != nil else {
            throw BundleError(path, .noMetadata)
        }
        return try BundleMetadata(in: archive, of: path)
    }
}

/// A bundle that `prune` either keeps or removes.
struct PruneCandidate: Sendable {
    let path: String
    let file: ArtifactsDirectory.BundleFile
    let bytes: UInt64
    /// The time of capture, in milliseconds since 1970.
    ///
    /// Without one, the file's modification time.
    let date: Int64
    /// The bundle's line in the output.
    let line: BundleLine

    var directory: String { Path.directory(of: path) }
    var name: String { file.name }

    init(_ path: String, _ status: FileStatus, _ metadata: BundleMetadata) {
        self.path = path
        file = ArtifactsDirectory.BundleFile(name: Path.name(of: path), identity: status.identity)
        bytes = status.size
        date = MetadataTime.milliseconds(of: metadata.capture.at) ?? status.modified / 1_000_000
        line = BundleLine(
            KnownBundle(metadata, at: BundleLocation(path: path)), metadata, bytes: status.size)
    }

    /// The date in the format of the metadata.
    var dateText: String {
        let milliseconds = (date % 1000 + 1000) % 1000
        return Timestamp(seconds: (date - milliseconds) / 1000, milliseconds: Int32(milliseconds))
            .description
    }
}

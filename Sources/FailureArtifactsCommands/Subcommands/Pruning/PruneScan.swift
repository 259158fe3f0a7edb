internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// What `prune` finds in a directory.
struct PruneScan {
    /// What a file is that is called like a bundle.
    enum Finding: Sendable {
        case bundle(PruneCandidate)
        /// Something else; why, as a full sentence.
        case other(String)
        case unreadable(CommandError)
        /// A link or the like, or it has gone.
        case nothing
    }

    /// How deep directories are searched, as for `list`.
    private static let depthLimit = 8

    /// The zips in a directory and its folders, hidden ones and links aside.
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

    /// Looks at a file.
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

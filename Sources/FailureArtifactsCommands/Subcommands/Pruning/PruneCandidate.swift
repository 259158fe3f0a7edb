internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

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
        line = BundleLine(metadata, location: BundleLocation(path: path), bytes: status.size)
    }

    /// The date in the format of the metadata.
    var dateText: String {
        let milliseconds = (date % 1000 + 1000) % 1000
        return Timestamp(seconds: (date - milliseconds) / 1000, milliseconds: Int32(milliseconds))
            .description
    }
}

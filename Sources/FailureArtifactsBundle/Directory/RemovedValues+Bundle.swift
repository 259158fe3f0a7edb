package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension RemovedValues {
    /// The time limit of the search, in seconds.
    private static let timeLimit = 1.0

    /// Searches the future content of a bundle for the removed values.
    ///
    /// Returns a warning, without the value, for each entry that contains one.
    package func warnings(about metadata: BundleMetadata, in staging: StagingDirectory)
        -> [CaptureWarning]
    {
        guard !isEmpty else { return [] }
        let deadline = Instant.now.advanced(bySeconds: Self.timeLimit)
        var found: [(entry: String, origins: [String])] = []
        metadata.json().withUnsafeBytes { bytes in
            found.append(("metadata.json", origins(in: bytes, until: deadline)))
        }
        for entry in metadata.entries {
            let origins = try? origins(inFile: staging.file(ofEntry: entry), until: deadline)
            found.append((entry, origins ?? []))
        }
        return found.filter { !$0.origins.isEmpty }.map { entry, origins in
            CaptureWarning(
                .removedValueRemains,
                "A value that was removed from \(origins.joined(separator: ", ")) is still in '\(entry)', where no "
                    + "redaction names it.",
                ["entry": .text(entry)])
        }
    }
}

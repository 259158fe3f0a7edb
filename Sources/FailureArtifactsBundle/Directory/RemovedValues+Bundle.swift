package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension RemovedValues {
    /// Seconds for the search.
    private static let timeLimit = 1.0

    /// Looks for the values in what a bundle is about to be made of.
    ///
    /// - Parameters:
    ///   - metadata: What the bundle says.
    ///   - staging: Holds its entries.
    /// - Returns: A warning for each entry that has such a value, without the value.
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

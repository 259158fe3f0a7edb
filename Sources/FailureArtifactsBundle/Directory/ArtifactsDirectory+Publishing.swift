package import FailureArtifactsSystem

extension ArtifactsDirectory {
    /// Packs a spool, and gives the bundle its name.
    ///
    /// - Parameters:
    ///   - metadata: What the bundle says, but for what SQLite says of the copies.
    ///   - spool: Holds its entries.
    ///   - limits: What the directory may hold.
    ///   - isSharing: Whether stores are left out that earlier bundles hold.
    ///   - date: The time that the entries get.
    ///   - warn: Gets a full sentence on each copy that could not be looked at, and on what went wrong although the
    ///     bundle has its name.
    /// - Returns: The bundle's path.
    /// - Throws: A `ZipError` or a `SystemError`, why it could not be written, or ``LimitReached``.
    package func publish(
        _ metadata: BundleMetadata, from spool: Spool, within limits: DirectoryLimits,
        sharing isSharing: Bool, date: Timestamp = .now, warn: (String) -> Void = { _ in }
    ) throws -> String {
        var metadata = metadata
        for problem in metadata.inspectCopies(in: spool) { warn(problem) }
        let shared = isSharing ? SharedStores(in: self) : nil
        let packed = try BundlePacker.pack(metadata, from: spool, sharing: shared, date: date)
        func publish(_ file: String, referringTo holders: Set<String>) throws -> String {
            try self.publish(
                file, of: spool, metadata.test, within: limits, outcome: metadata.outcome,
                referringTo: holders, warn: warn)
        }
        let bundle: String
        do {
            bundle = try publish(packed, referringTo: shared?.holders ?? [])
        } catch is HolderGone {
            let complete = try BundlePacker.pack(metadata, from: spool, date: date)
            bundle = try publish(complete, referringTo: [])
        }
        shared?.register(Path.name(of: bundle))
        return bundle
    }
}

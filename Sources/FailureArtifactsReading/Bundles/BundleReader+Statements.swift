package import FailureArtifactsBundle
internal import FailureArtifactsZip

extension BundleReader {
    /// More of a log is not read, in bytes.
    private static let statementsLimit = 64 << 20

    /// The last statements of a store's connections.
    ///
    /// - Parameter store: One of the bundle's.
    /// - Returns: The oldest first; none where the store has no log.
    /// - Throws: That the log is missing or damaged.
    package func statements(
        of store: BundleMetadata.Store
    ) throws(BundleError) -> [StatementRecord] {
        guard let name = store.statements?.entry else { return [] }
        let entry = try entry(named: name)
        let bytes: [UInt8]
        do {
            bytes = try archive.contents(of: entry, limit: Self.statementsLimit)
        } catch {
            throw BundleError(location.description, zip: error)
        }
        guard let records = StatementRecord.records(in: bytes) else {
            throw BundleError(location.description, .statements(name))
        }
        return records.sorted { $0.order < $1.order }
    }
}

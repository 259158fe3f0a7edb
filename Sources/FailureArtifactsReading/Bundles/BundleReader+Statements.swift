package import FailureArtifactsBundle
internal import FailureArtifactsZip

extension BundleReader {
    /// The maximum size of a statement log, in bytes.
    private static let statementsLimit = 64 << 20

    /// Returns the last statements of a store's connections.
    ///
    /// - Parameter store: A store of this bundle.
    /// - Returns: The statements, oldest first; empty if the store has no log.
    /// - Throws: An error if the log is missing or damaged.
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

extension StatementRecord {
    /// The innermost line in another file that called the function of ``source``; nil if unknown.
    ///
    /// A reader may have replaced the source by one of the callers; its own callers follow it.
    package var callerInAnotherFile: Source? {
        guard let source, let callers else { return nil }
        let outer = callers.firstIndex(of: source).map { callers[($0 + 1)...] } ?? callers[...]
        return outer.first { $0.file != source.file }
    }
}

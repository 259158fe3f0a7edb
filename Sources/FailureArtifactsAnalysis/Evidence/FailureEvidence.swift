internal import FailureArtifactsBundle
package import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A failed test's stores, statements and message, from which findings are derived.
package final class FailureEvidence {
    let metadata: BundleMetadata
    let message: FailureMessage
    private(set) var stores: [StoreEvidence] = []
    /// The reasons why stores are left out, as full sentences.
    private(set) var notes: [String] = []

    /// Reads a bundle.
    ///
    /// - Parameters:
    ///   - bundle: The bundle.
    ///   - scratch: An existing directory for temporary files, which the caller removes.
    ///   - limits: The limits on resources that a store can use.
    ///   - seconds: The time limit for reading histories, in seconds. Later transactions are left out.
    package init(
        _ bundle: BundleReader, scratch: String, limits: UntrustedLimits = .standard,
        seconds: Double = 5
    ) {
        metadata = bundle.metadata
        message = FailureMessage(metadata.failures.first?.message ?? "")
        let deadline = Instant.now.advanced(bySeconds: seconds)
        for choice in metadata.storeChoices where !choice.isCommitted && choice.name == choice.store.name
        {
            do {
                stores.append(
                    try StoreEvidence(
                        choice, of: bundle, scratch: scratch, limits: limits, deadline: deadline))
            } catch {
                notes.append(
                    "Store '\(choice.name)' can't be analysed: \(CommandError(error).description)")
            }
        }
    }
}

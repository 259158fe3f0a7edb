internal import FailureArtifactsBundle
package import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A failed test's stores, statements and message, from which findings are derived.
package final class FailureEvidence {
    let metadata: BundleMetadata
    let message: FailureMessage
    package private(set) var stores: [StoreEvidence] = []
    /// The changes of watched files.
    package let files: [FileTree]
    /// The reasons why stores are left out, as full sentences.
    package private(set) var notes: [String] = []
    /// The invariants that are or were broken, by the names of the stores.
    private(set) var invariants: [String: [InvariantEvidence]] = [:]
    /// A run of the same test that passed; nil if unknown.
    package var passing: FailureEvidence?

    /// Reads a bundle.
    ///
    /// - Parameters:
    ///   - bundle: The bundle.
    ///   - scratch: An existing directory for temporary files, which the caller removes after the last use of the value.
    ///   - invariants: The invariants to check in the stores and their histories.
    ///   - limits: The limits on resources that a store can use.
    ///   - seconds: The time limit for reading histories, in seconds. Later transactions are left out.
    package init(
        _ bundle: BundleReader, scratch: String, checking invariants: [Invariant] = [],
        limits: UntrustedLimits = .standard, seconds: Double = 5
    ) {
        metadata = bundle.metadata
        message = FailureMessage(metadata.failures.first?.message ?? "")
        files = FileTree.all(in: bundle)
        let deadline = Instant.now.advanced(bySeconds: seconds)
        var results = InvariantResults()
        for choice in metadata.storeChoices where !choice.isCommitted && choice.name == choice.store.name
        {
            do {
                let store = try StoreEvidence(
                    choice, of: bundle, scratch: scratch, limits: limits, deadline: deadline)
                stores.append(store)
                guard !invariants.isEmpty else { continue }
                self.invariants[store.name] = InvariantEvidence.all(
                    invariants, in: store, choice, of: bundle, scratch: scratch, limits: limits, &results
                )
            } catch {
                notes.append(
                    "Store '\(choice.name)' can't be analysed: \(CommandError(error).description)")
            }
        }
        notes += results.notes
    }

    /// The root of the test's package, as far as the bundle tells it.
    package var packageRoot: PackageRoot {
        PackageRoot(metadata, sources: stores.lazy.flatMap(\.statements).flatMap(\.record.frames))
    }
}

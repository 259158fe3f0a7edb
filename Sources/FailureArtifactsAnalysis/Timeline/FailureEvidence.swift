internal import FailureArtifactsBundle
package import FailureArtifactsReading
package import FailureArtifactsSQLite

/// A failed test's stores, statements and message, from which findings are derived.
package final class FailureEvidence {
    let metadata: BundleMetadata
    let message: FailureMessage
    package private(set) var stores: [Timeline] = []
    /// The reasons why stores are left out, as full sentences.
    package private(set) var notes: [String] = []
    /// The invariants that are or were broken, by the names of the stores.
    private(set) var invariants: [String: [InvariantEvidence]] = [:]
    /// A run of the same test that passed; nil if unknown.
    package var passing: FailureEvidence?
    /// An existing directory for copies of stores.
    let scratch: String
    let effort: Effort

    package init(
        _ bundle: BundleReader, scratch: String, checking invariants: [Invariant] = [],
        limits: UntrustedLimits = .standard, effort: Effort = .standard
    ) {
        self.scratch = scratch
        self.effort = effort
        metadata = bundle.metadata
        message = FailureMessage(metadata.failures.first?.message ?? "")
        var results = InvariantResults()
        for choice in metadata.storeChoices where !choice.isCommitted && choice.name == choice.store.name
        {
            do {
                let store = try Timeline(
                    choice, of: bundle, scratch: scratch, limits: limits, transactions: effort.history)
                stores.append(store)
                self.invariants[store.name] = invariants.compactMap {
                    InvariantEvidence($0, in: store, effort, &results)
                }
            } catch {
                notes.append(
                    "Store '\(choice.name)' can't be analysed: \(CommandError(error).description)")
            }
        }
        notes += results.notes
    }

    /// The root of the test's package, as far as the bundle tells it.
    package var packageRoot: PackageRoot {
        PackageRoot(metadata)
    }
}

/// The limits of the work that findings may take. They are numbers and no times, so that the same bundle gives the
/// same findings on every machine.
package struct Effort: Sendable {
    /// The maximum number of transactions of a history that are read, the last ones.
    var history: Int
    /// The steps of SQLite's virtual machine for each question.
    var steps: Int
    /// The maximum number of transactions that are undone, the last ones.
    var transactions: Int
    /// The maximum number of rows that are undone on their own, for each question.
    var rows: Int

    package static let standard = Effort(
        history: 1000, steps: 150_000_000, transactions: 60, rows: 120)
    /// For commands that read many bundles.
    package static let small = Effort(history: 200, steps: 50_000_000, transactions: 30, rows: 30)
}

package import FailureArtifactsBundle

/// A copy of a store in a bundle: the test's view or the committed state, at one of its failures.
package struct StoreChoice: Equatable, Sendable {
    /// The name: `ledger`, `ledger.committed`, or `failure-2/ledger` for a copy in a snapshot.
    package let name: String
    /// The entry that holds the copy.
    package let entry: String
    /// True if the copy has the committed state, as all other connections saw it.
    package let isCommitted: Bool
    package let store: BundleMetadata.Store
}

internal import CFailureArtifactsShared

/// The state of a connection after its last statement.
package struct LogEnd: Sendable {
    let counts: ChangeCounts
    let pages: WrittenPages
    let isInTransaction: Bool
    /// Its error; nil if it has none, or if not known.
    let failure: StatementRecord.Failure?

    package init(
        totalChanges: UInt32, ownChanges: UInt32, written: UInt32, spilled: UInt32, version: UInt32,
        isInTransaction: Bool, failure: StatementRecord.Failure?
    ) {
        counts = ChangeCounts(total: totalChanges, own: ownChanges)
        pages = WrittenPages(written: written, spilled: spilled, version: version)
        self.isInTransaction = isInTransaction
        self.failure = failure
    }
}

package import FailureArtifactsReading

package struct ChangedTable: Sendable {
    package let table: ComparedTable
    /// The rows, of which a limited number is kept.
    package let rows: [RowChange]
    package let counts: RowCounts

    /// True if ``rows`` has all changed rows.
    package var isComplete: Bool { counts.total == Int64(rows.count) }
}

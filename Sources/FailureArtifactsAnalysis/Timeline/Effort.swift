/// The limits of the work that findings may take: no times, so that results are the same on every machine.
package struct Effort: Sendable {
    /// The maximum number of transactions of a history that are read, the last ones.
    var history: Int
    /// The steps of SQLite's virtual machine for each question.
    var steps: Int
    /// The maximum number of transactions that are undone, the last ones.
    var transactions: Int
    /// The maximum number of rows that are undone on their own, for each question.
    var rows: Int
    /// The maximum number of stores that are read, the first ones, and the maximum size of one, in bytes.
    package var stores = Int.max
    package var storeBytes = UInt64.max

    package static let standard = Effort(
        history: 1000, steps: 150_000_000, transactions: 60, rows: 120)
    /// For commands that read many bundles.
    package static let small = Effort(
        history: 200, steps: 50_000_000, transactions: 30, rows: 30, stores: 8, storeBytes: 16 << 20)
}

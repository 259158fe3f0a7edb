internal import FailureArtifactsSystem

/// Limits that keep a report's size and time bounded, whatever the bundles contain.
package struct ReportLimits: Sendable {
    /// The maximum number of causes described with their stores; further causes are in the overview only.
    static let describedCauses = 200
    /// The maximum number of bundles listed for one cause.
    static let reportedBundles = 100
    /// The size of the page, in bytes, from which on causes are described without their stores.
    static let pageBytes = 12 << 20
    /// The bytes of values for all tables of the page.
    private static let allRowBytes = 4 << 20
    /// The seconds that all causes share, over all cores.
    private static let allSeconds = 8.0

    /// The bytes of values for the tables of one cause.
    var rowBytes: Int
    /// The bytes of values for the changes of one cause.
    var changeBytes: Int
    /// The seconds for the tables of one cause, or for comparing its attempts.
    ///
    /// The changes of each store have half as many seconds.
    var seconds: Double

    var rowsPerTable = 20_000
    var columns = 256
    /// The maximum number of bytes shown of a text.
    var textBytes = 600
    /// The maximum number of bytes shown of a blob.
    var blobBytes = 48
    /// The maximum number of stores of one cause, and of tables of one store.
    var stores = 12
    var tables = 200
    /// The maximum number of transactions of one store's history: the last ones before the failure.
    var transactions = 30
    /// The maximum number of rows of one table that are shown for one transaction.
    var changedRows = 20
    var statements = 100
    /// The maximum size, in bytes, of a copy whose tables are read.
    ///
    /// A larger copy is described by its metadata only.
    var storeBytes: UInt64
    /// The maximum size, in bytes, of a copy whose history and other changes are read.
    var historyStoreBytes: UInt64
    /// The maximum number of bytes shown of all attachments of one cause, and of one attachment.
    var attachmentBytes: Int
    let oneAttachment = 32 << 10

    /// Creates the limits of one page.
    ///
    /// - Parameter causes: The number of causes that share the page.
    package init(causes: Int) {
        let share = max(1, min(causes, Self.describedCauses))
        rowBytes = min(640 << 10, max(10 << 10, Self.allRowBytes / share))
        changeBytes = rowBytes / 4
        attachmentBytes = rowBytes / 8
        seconds = min(2, max(0.04, Self.allSeconds / Double(share)))
        storeBytes = max(4 << 20, min(128 << 20, (2 << 30) / UInt64(share)))
        historyStoreBytes = storeBytes / 4
        if share > 40 {
            transactions = 8
            statements = 40
            stores = 4
            tables = 40
        }
    }
}

/// The bytes and the time that are left for the tables, or for the changes, of one cause.
///
/// It is an object, because all functions that read a part share it. Only one thread uses it.
final class ReadingBudget {
    let limits: ReportLimits
    /// The bytes of values that are left.
    var bytes: Int
    /// The time at which reading stops.
    ///
    /// The parts that are missing then are noted.
    var deadline: Instant

    init(_ limits: ReportLimits, bytes: Int) {
        self.limits = limits
        self.bytes = bytes
        deadline = Instant.now.advanced(bySeconds: limits.seconds)
    }
}

/// How much a report takes in, so that its size and time stay bounded whatever the bundles hold.
package struct ReportLimits: Sendable {
    /// Causes that are described with their stores; those beyond are in the overview only.
    static let describedCauses = 200
    /// Occurrences of one cause that are listed.
    static let reportedBundles = 100
    /// Bytes of the page after which no more causes are described with their stores.
    static let pageBytes = 12 << 20
    /// Bytes of values of all tables of the page.
    private static let allRowBytes = 4 << 20
    /// Seconds for the histories of all causes, over all cores.
    private static let allSeconds = 8.0

    /// Bytes of values for the tables of one cause.
    var rowBytes: Int
    /// Bytes of values for the changes of one cause.
    var changeBytes: Int
    /// Seconds for the changes of one cause.
    var seconds: Double

    var rowsPerTable = 20_000
    var columns = 256
    /// Bytes of a text that are shown.
    var textBytes = 600
    /// Bytes of a blob that are shown.
    var blobBytes = 48
    /// Stores and tables of one cause.
    var stores = 12
    var tables = 200
    /// Transactions of one store's history, counted from the failure.
    var transactions = 30
    /// Rows of one table that one transaction changed.
    var changedRows = 20
    var statements = 100
    /// A copy that is larger is described by its metadata only.
    var storeBytes: UInt64
    /// The history of a larger copy is not gone through.
    var historyStoreBytes: UInt64
    /// Bytes of the attachments of one cause that are shown, and of one of them.
    var attachmentBytes: Int
    let oneAttachment = 32 << 10

    /// - Parameter causes: How many causes share the page.
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

/// Limits that keep a report's size and time bounded, whatever the bundles contain.
package struct ReportLimits: Sendable {
    /// The default maximum number of bytes that the data of all stores takes on the page.
    package static let standardBytes: UInt64 = 10 << 20
    /// The maximum number of causes for which Git is asked.
    static let causesWithCommits = 20
    /// The maximum number of causes described with their stores; further causes are in the overview only.
    static let describedCauses = 200
    static let reportedBundles = 100
    /// The maximum number of arguments listed for a cause, and the width of one, in columns.
    static let (arguments, argumentColumns) = (20, 80)
    static let messageBytes = 8000
    /// The size of the page without the data of stores, in bytes, from which on causes are described without their
    /// stores.
    static let pageBytes = 6 << 20
    /// The seconds that all causes share, over all cores, unless there are so many that each one needs more.
    private static let allSeconds = 8.0

    /// The bytes on the page for the data of one cause's stores, compressed and in Base64.
    let dataBytes: Int
    /// The bytes of values for the tables of one cause, before compression.
    var rowBytes: Int
    var seconds: Double

    var rowsPerTable = 20_000
    var columns = 256
    var textBytes = 600
    var blobBytes = 48
    /// The maximum number of stores of one cause, and of tables of one store.
    var stores = 12
    var tables = 200
    /// The maximum size, in bytes, of a copy that is read; a larger copy is described by its metadata only.
    var storeBytes: UInt64
    /// The maximum number of bytes shown of all attachments of one cause, and of one attachment.
    var attachmentBytes: Int
    let oneAttachment = 32 << 10

    /// Creates the limits of one page.
    ///
    /// - `maximumBytes`: the maximum number of bytes that the data of all stores takes on the page. One cause
    ///   has at most a fifth of it.
    package init(causes: Int, maximumBytes: UInt64 = Self.standardBytes) {
        let share = max(1, min(causes, Self.describedCauses))
        dataBytes = Int(clamping: maximumBytes) / max(5, share)
        // Rows take about a fifth of their size on the page.
        rowBytes = min(16 << 20, dataBytes * 5)
        attachmentBytes = min(80 << 10, (1 << 20) / share)
        // A page with more data may take longer.
        let scale = min(60, max(1, Double(maximumBytes) / Double(Self.standardBytes)))
        seconds = min(4, max(1, Self.allSeconds / Double(share))) * scale
        storeBytes = max(1 << 20, min(32 << 20, (512 << 20) / UInt64(share)))
        if share > 40 {
            stores = 4
            tables = 40
        }
    }
}

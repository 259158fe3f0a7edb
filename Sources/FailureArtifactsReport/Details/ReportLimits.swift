internal import FailureArtifactsSystem

/// Limits that keep a report's size and time bounded, whatever the bundles contain.
package struct ReportLimits: Sendable {
    /// The default maximum number of bytes that the data of all stores takes on the page.
    package static let standardBytes: UInt64 = 10 << 20
    /// The maximum number of causes described with their stores; further causes are in the overview only.
    static let describedCauses = 200
    /// The maximum number of bundles listed for one cause.
    static let reportedBundles = 100
    /// The maximum number of arguments listed for a cause, and the width of one, in columns.
    static let (arguments, argumentColumns) = (20, 80)
    /// The maximum size of a message, in bytes.
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
    /// The seconds for the tables of one cause.
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
    /// The maximum number of statements of a store whose history isn't read.
    var statements = 100
    /// The maximum size, in bytes, of a copy whose tables are read. A larger copy is described by its metadata only.
    var storeBytes: UInt64
    /// The maximum size, in bytes, of a copy whose history and other changes are read.
    var historyStoreBytes: UInt64
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
        storeBytes = max(4 << 20, min(128 << 20, (2 << 30) / UInt64(share)))
        historyStoreBytes = storeBytes / 4
        if share > 40 {
            statements = 40
            stores = 4
            tables = 40
        }
    }
}

/// The bytes and the time that are left for the tables of one cause. It is an object, because all functions that read
/// a part share it. Only one thread uses it.
final class ReadingBudget {
    let limits: ReportLimits
    /// The bytes of values that are left.
    var bytes: Int
    /// The time at which reading stops. The parts that are missing then are noted.
    var deadline: Instant

    init(_ limits: ReportLimits, bytes: Int) {
        self.limits = limits
        self.bytes = bytes
        deadline = Instant.now.advanced(bySeconds: limits.seconds)
    }
}

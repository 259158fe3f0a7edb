internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A failure with its stores: plain values, read from a bundle.
struct FailureDetail: Sendable {
    let location: BundleLocation
    let metadata: BundleMetadata
    /// The lines around the assertion; nil if the source isn't here.
    var excerpt: SourceExcerpt?
    /// The first findings, best first.
    var findings: [Finding] = []
    var stores: [StoreDetail] = []
    /// The content of attachments that can be shown, by their entries.
    var attachments: [String: AttachmentPreview] = [:]
    /// The number of stores that are not described, because there are too many.
    var omittedStores = 0
    /// The parts that could not be read or were cut, as full sentences.
    var notes: [String] = []

    var packageRoot: PackageRoot { PackageRoot(metadata) }

    /// The place of the first failure; nil if it is unknown.
    var place: String? {
        metadata.failures.first.flatMap { FailureText.place(of: $0, in: packageRoot) }
    }
}

/// The content of a small attachment, or the end of a text.
enum AttachmentPreview: Sendable {
    /// A text, or its end after some lines.
    case text(String, earlierLines: Int)
    /// A picture, as a `data:` address.
    case picture(String)
}

struct StoreDetail: Sendable {
    let store: BundleMetadata.Store
    var tables: [TableDetail] = []
    var omittedTables = 0
    /// The transactions, oldest first, and the changes that were not committed.
    var steps: [StepDetail] = []
    var transactionCount = 0
    /// The statements on the store's connections, oldest first.
    var statements: [StatementRecord] = []
    var notes: [String] = []
    /// Nil if the store was not created by Core Data.
    var coreData: CoreDataStore?
    /// The version of the SQLite that last wrote the store; nil if it isn't known.
    var sqlite: String?

    init(_ store: BundleMetadata.Store) {
        self.store = store
    }

    func statements(of step: StepDetail) -> [StatementRecord] { step.statements.map { statements[$0] } }
}

/// A table with rows as they were at the failure.
struct TableDetail: Sendable {
    struct Column: Sendable, Equatable {
        let name: String
        let type: String
        let isKey: Bool
        /// The table and the column that a foreign key of this column refers to; without a column, its primary key.
        var reference: Reference?
    }

    struct Reference: Sendable, Equatable {
        let table: String
        var column: String?
    }

    let name: String
    /// The name of the table behind a view; nil for a table.
    var source: String?
    /// True if the application doesn't use the table directly.
    var isQuiet = false
    var columns: [Column] = []
    /// The columns that identify a row, as indices of ``columns``; nil for the rowid.
    var keys: [Int]?
    /// The number of rows in the store; a lower bound if `isExact` is false.
    var count: Int64 = 0
    var isExact = true
    /// The rows as JSON arrays of ``CellJSON``; they begin with the rowid if ``keys`` is nil.
    var rows: [String] = []
    var shownColumns = 0
    /// The reason why the rows could not be read, as a clause.
    var problem: String?
}

struct StepDetail: Sendable {
    enum Kind: String {
        case transaction, uncommitted, rolledBack
    }

    struct Table: Sendable {
        let name: String
        var source: String
        /// The columns of the key; empty for the rowid.
        var keyColumns: [String] = []
        var counts = RowCounts()
        var rows: [RowChange] = []
        /// The statements that can have made a kind of change, as indices of ``StoreDetail/statements``.
        var writers: [RowChange.Kind: [Int]] = [:]
        var problem: String?
    }

    let kind: Kind
    /// The transaction's number in the history; nil for a step of another kind.
    var number: Int?
    var pages = 0
    /// The changes of the schema, such as `table posting added`.
    var schema: [String] = []
    var tables: [Table] = []
    /// The statements, as indices of ``StoreDetail/statements``; empty if they are unknown.
    var statements: [Int] = []
}

/// Values of a store as JSON.
///
/// | value | JSON |
/// | --- | --- |
/// | NULL | `null` |
/// | integer up to ±2⁵³ | a number |
/// | other integer | `{"i":"9223372036854775807"}` |
/// | real | `{"r":"0.5"}` |
/// | text | a string |
/// | text that is cut | `{"t":"the beginning","n":12345}`, `n` its bytes |
/// | text that is not UTF-8 | `{"x":"FF00","n":2}` |
/// | blob | `{"b":"CAFE","n":2}`, `b` at least its beginning |
enum CellJSON {
    static func text(of value: StoredValue) -> String {
        switch value.content {
        case .null: return "null"
        case .integer(let number):
            return number.magnitude <= 1 << 53 ? String(number) : "{\"i\":\"\(number)\"}"
        case .real(let number): return "{\"r\":\"\(ValueText.real(number))\"}"
        case .blob(let bytes):
            return "{\"b\":\"\(hexadecimalText(bytes))\",\"n\":\(value.byteCount)}"
        case .text(let bytes):
            guard let text = StoredText.valid(bytes, isCut: value.isCut) else {
                return "{\"x\":\"\(hexadecimalText(bytes))\",\"n\":\(value.byteCount)}"
            }
            return value.isCut
                ? "{\"t\":\(JSONText.string(text)),\"n\":\(value.byteCount)}" : JSONText.string(text)
        }
    }
}

/// Limits that keep a report's size and time bounded, whatever the bundles contain.
package struct ReportLimits: Sendable {
    /// The default maximum number of bytes that the data of all stores takes on the page.
    package static let standardBytes: UInt64 = 10 << 20
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

/// The bytes and the time that are left for the tables of one cause.
///
/// It is an object, because all functions that read a part share it. Only one thread uses it.
final class ReadingBudget {
    let limits: ReportLimits
    /// The bytes of values that are left.
    var bytes: Int
    /// The time at which reading stops; the parts that are missing then are noted.
    var deadline: Instant

    init(_ limits: ReportLimits, bytes: Int) {
        self.limits = limits
        self.bytes = bytes
        deadline = Instant.now.advanced(bySeconds: limits.seconds)
    }
}

/// The lines of source code around an assertion.
struct SourceExcerpt: Sendable {
    /// The number of lines shown before and after the assertion's.
    private static let margin = 2
    /// The maximum size of a source file, in bytes, and of a line, in characters.
    private static let limits = (file: UInt64(4 << 20), line: 200)

    let first: Int
    let lines: [String]
    let line: Int

    /// Reads the lines around a failure.
    ///
    /// A bundle can name any file. Only Swift files below the working directory are read, and only if they are older
    /// than the failure, because the lines of a file that has changed since may be others.
    init?(_ failure: BundleMetadata.Failure, below directory: String) {
        guard let file = failure.file, let line = failure.line, line > 0, file.hasSuffix(".swift"),
            let root = FileSystem.realPath(of: directory),
            let path = FileSystem.realPath(of: Path.absolute(file)), path.hasPrefix(root + "/"),
            path.hasSuffix(".swift"), let status = FileSystem.regularFile(path),
            status.size <= Self.limits.file,
            let failed = MetadataTime.milliseconds(of: failure.at),
            status.modified / 1_000_000 < failed,
            let bytes = try? FileSystem.contents(ofFile: path, limit: Int(Self.limits.file))
        else { return nil }
        let all = String(decoding: bytes, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        guard line <= all.count else { return nil }
        first = max(1, line - Self.margin)
        let last = min(all.count, line + Self.margin)
        lines = all[(first - 1)..<last].map { String($0.prefix(Self.limits.line)) }
        self.line = line
    }
}

extension FailureDetail {
    /// Reads a bundle.
    init(
        reading location: BundleLocation, passing: BundleLocation? = nil, scratch: String,
        _ limits: ReportLimits, checking invariants: [Invariant] = [], archive: ZipLimits
    ) throws {
        let directory = try FileSystem.createUniqueDirectory(in: scratch, prefix: "report-")
        defer { try? FileSystem.remove(directory) }
        let bundle = try BundleReader(
            location, scratchDirectory: directory, limits: archive)
        self.init(
            location: location,
            metadata: bundle.inspectedMetadata(below: directory, maximumBytes: limits.storeBytes))
        excerpt = metadata.failures.first.flatMap {
            SourceExcerpt($0, below: Path.currentDirectory)
        }
        readAttachments(of: bundle, limits)
        var effort = Effort.standard
        (effort.stores, effort.storeBytes) = (limits.stores, limits.storeBytes)
        let evidence = FailureEvidence(
            bundle, scratch: directory, checking: invariants, effort: effort)
        notes += evidence.notes
        if metadata.outcome != .passed { addFindings(evidence, passing, scratch: directory, archive) }
        let rows = ReadingBudget(limits, bytes: limits.rowBytes)
        omittedStores = max(0, metadata.stores.count - limits.stores)
        for store in metadata.stores.prefix(limits.stores) {
            var detail = StoreDetail(store)
            detail.sqlite = bundle.writerVersion(of: store)
            if let known = evidence.stores.first(where: { $0.name == store.name }) {
                detail.read(known, rows)
            } else {
                detail.statements = StatementLines.applied(to: (try? bundle.statements(of: store)) ?? [])
            }
            stores.append(detail)
        }
    }

    private mutating func addFindings(
        _ evidence: FailureEvidence, _ passing: BundleLocation?, scratch: String, _ archive: ZipLimits
    ) {
        let other = Path.join(scratch, "passing")
        if let passing, (try? FileSystem.createDirectory(other)) != nil,
            let bundle = try? BundleReader(passing, scratchDirectory: other, limits: archive)
        {
            evidence.passing = FailureEvidence(bundle, scratch: other)
        }
        var explanation = Explanation(evidence, bundle: location.description)
        explanation.keepFirst(Explanation.standardCount)
        findings = explanation.findings
    }

    private mutating func readAttachments(of bundle: BundleReader, _ limits: ReportLimits) {
        var left = limits.attachmentBytes
        var toRead = UInt64(16 << 20)
        for attachment in metadata.attachments.prefix(50) {
            guard let name = attachment.entry, attachments[name] == nil,
                let entry = bundle.archive.entry(named: name),
                left > 0, entry.size <= toRead,
                let bytes = try? bundle.archive.contents(of: entry, limit: TextTail.maximumSize)
            else { continue }
            toRead -= entry.size
            let room = min(left, limits.oneAttachment)
            if bytes.count > room {
                guard
                    let tail = TextTail(of: bytes, lines: 200, maximumBytes: room, maximumLength: 2000)
                else { continue }
                let text = tail.lines.joined(separator: "\n")
                attachments[name] = .text(text, earlierLines: tail.earlierLines)
                left -= text.utf8.count
                continue
            }
            if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) {
                attachments[name] = .picture("data:image/png;base64," + JSONText.base64(bytes))
            } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
                attachments[name] = .picture("data:image/jpeg;base64," + JSONText.base64(bytes))
            } else if !bytes.contains(0), let text = StoredText.valid(bytes, isCut: false) {
                attachments[name] = .text(text, earlierLines: 0)
            } else {
                continue
            }
            left -= bytes.count
        }
    }
}

extension StoreDetail {
    /// Reads the steps and the tables of a store.
    fileprivate mutating func read(_ store: Timeline, _ budget: ReadingBudget) {
        do {
            // SQLite stores a database without tables as an empty file.
            let isEmpty = FileSystem.regularFile(store.path)?.size == 0
            if !isEmpty { coreData = try CoreDataStore.read(try Connection.untrusted(store.path)) }
            addSteps(of: store)
            if !isEmpty { try readTables(of: store.path, budget) }
        } catch {
            notes.append("The tables cannot be read. \(CommandError(error).description)")
        }
    }
}

internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A failure with its stores: plain values, read from a bundle.
struct FailureDetail: Sendable {
    let location: BundleLocation
    let metadata: BundleMetadata
    /// The lines around the assertion; nil if the source isn't here.
    var excerpt: SourceExcerpt?
    /// The root of the test's package, as far as the bundle tells it.
    var packageRoot: PackageRoot
    /// The first findings, best first.
    var findings: [Finding] = []
    var stores: [StoreDetail] = []
    /// The content of attachments that can be shown, by their entries.
    var attachments: [String: AttachmentPreview] = [:]
    /// The number of stores that are not described, because there are too many.
    var omittedStores = 0
    /// The parts that could not be read or were cut, as full sentences.
    var notes: [String] = []

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
    /// The rows as JSON arrays of ``CellJSON``. They begin with the rowid if ``keys`` is nil.
    var rows: [String] = []
    var shownColumns = 0
    /// The reason why the rows could not be read, as a clause.
    var problem: String?
}

/// A step of a store's history.
struct StepDetail: Sendable {
    enum Kind: String {
        case transaction, uncommitted, rolledBack
    }

    let kind: Kind
    /// The transaction's number in the history; nil for a step of another kind.
    var number: Int?
    var pages = 0
    var change = ChangeDetail()
    /// The statements, as indices of ``StoreDetail/statements``; empty if they are unknown.
    var statements: [Int] = []
}

/// The differences between two states of a store.
struct ChangeDetail: Sendable {
    struct Table: Sendable {
        let name: String
        /// The name in the store.
        var source: String
        /// The columns of the key; empty for the rowid.
        var keyColumns: [String] = []
        var counts: RowCounts
        var rows: [RowChange] = []
        var problem: String?
    }

    /// The changes of the schema, such as `table posting added`.
    var schema: [String] = []
    var tables: [Table] = []

    var isEmpty: Bool { schema.isEmpty && tables.isEmpty }
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

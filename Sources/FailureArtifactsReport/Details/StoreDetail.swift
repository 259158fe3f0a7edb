internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A failure with its stores: plain values, read from a bundle.
struct FailureDetail: Sendable {
    let location: BundleLocation
    let metadata: BundleMetadata
    var stores: [StoreDetail] = []
    /// The content of those that can be shown, by their entries.
    var attachments: [String: AttachmentPreview] = [:]
    /// Stores that are not described, because there are too many.
    var omittedStores = 0
    /// What could not be read or was cut, as full sentences.
    var notes: [String] = []
}

/// The content of an attachment that is small.
enum AttachmentPreview: Sendable {
    case text(String)
    /// A picture, as a `data:` address.
    case picture(String)
}

/// A store of a failure.
struct StoreDetail: Sendable {
    let store: BundleMetadata.Store
    var tables: [TableDetail] = []
    var omittedTables = 0
    var changes: [TransactionDetail] = []
    /// The number of transactions that the history has.
    var transactionCount = 0
    var uncommitted: ChangeDetail?
    var statements: [StatementRecord] = []
    var notes: [String] = []
    /// Nil where Core Data has not made it.
    var coreData: CoreDataStore?

    init(_ store: BundleMetadata.Store) {
        self.store = store
    }
}

/// A table with its first rows.
struct TableDetail: Sendable {
    struct Column: Sendable, Equatable {
        let name: String
        let type: String
        let isKey: Bool
    }

    struct ForeignKey: Sendable, Equatable {
        let columns: [String]
        let table: String
        /// Empty where the other table's primary key is meant.
        let targets: [String]
    }

    let name: String
    /// The table that it is a view of; nil where it is one itself.
    var source: String?
    var columns: [Column] = []
    var foreignKeys: [ForeignKey] = []
    /// Rows in the store; a lower bound where `isExact` is false.
    var count: Int64 = 0
    var isExact = true
    /// The rows as a JSON array of arrays; see ``CellJSON``.
    var rows = "[]"
    var shownRows = 0
    var shownColumns = 0
    /// Why the rows could not be read, as a clause.
    var problem: String?
}

/// What one transaction changed.
struct TransactionDetail: Sendable {
    let number: Int
    let pages: Int
    let change: ChangeDetail
    /// Those that made it, where the log of statements reaches back and that is certain.
    var statements: [StatementRecord] = []
}

/// What distinguishes a state of a store from another one.
struct ChangeDetail: Sendable {
    struct Table: Sendable {
        let name: String
        var counts: RowCounts
        /// The first ones.
        var rows: [RowChange] = []
        var problem: String?
    }

    var schema: [SchemaChange] = []
    var tables: [Table] = []
    /// Whether all tables were compared.
    var isComplete = true
}

/// Values of a store as JSON that may stand inside of an HTML page.
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
            return "{\"b\":\"\(ValueText.hexadecimal(bytes))\",\"n\":\(value.byteCount)}"
        case .text(let bytes):
            guard let text = StoredText.valid(bytes, isCut: value.isCut) else {
                return "{\"x\":\"\(ValueText.hexadecimal(bytes))\",\"n\":\(value.byteCount)}"
            }
            return value.isCut ? "{\"t\":\(string(text)),\"n\":\(value.byteCount)}" : string(text)
        }
    }

    /// A string that neither ends a script nor a line of one, wherever it stands.
    static func string(_ text: String) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        var previous: (UInt8, UInt8) = (0, 0)
        for byte in text.utf8 {
            switch byte {
            case 0..<0x20, 0x7F, UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"),
                UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes += Array(("\\u00" + ValueText.hexadecimal([byte])).utf8)
            // U+2028 and U+2029 are E2 80 A8 and E2 80 A9.
            case 0xA8 where previous == (0xE2, 0x80), 0xA9 where previous == (0xE2, 0x80):
                bytes.removeLast(2)
                bytes += Array((byte == 0xA8 ? "\\u2028" : "\\u2029").utf8)
            default: bytes.append(byte)
            }
            previous = (previous.1, byte)
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }
}

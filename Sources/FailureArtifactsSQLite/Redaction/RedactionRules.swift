internal import CFailureArtifactsShared
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The parts of a run that must not get into a bundle.
///
/// Names are patterns of SQLite's `GLOB`. As everywhere in SQLite, the case of ASCII letters is ignored.
package struct RedactionRules: Equatable, Sendable {
    /// The treatment of a column's values.
    package enum Method: String, Codable, Sendable, CaseIterable {
        /// Removes the values.
        case blank
        /// Keeps only the type and length of the values.
        case mask
        /// Keeps only the information which values are the same.
        case hash

        /// Returns the method that keeps least, of several that apply to a column.
        static func strictest(_ methods: [Method]) -> Method? { allCases.first(where: methods.contains) }

        /// The word for a change in summaries.
        var participle: String {
            switch self {
            case .blank: "blanked"
            case .mask: "masked"
            case .hash: "hashed"
            }
        }

        /// The method's number in `redaction.h`.
        var code: Int {
            switch self {
            case .blank: 0
            case .mask: 1
            case .hash: 2
            }
        }
    }

    /// A rule on columns.
    package struct Column: Equatable, Sendable {
        package var table: String
        package var column: String
        package var method: Method

        package init(table: String, column: String, method: Method) {
            self.table = table
            self.column = column
            self.method = method
        }
    }

    /// Patterns of the tables to drop.
    package var tables: [String] = []
    package var columns: [Column] = []
    /// Patterns of the names of attachments whose content is left out.
    package var attachments: [String] = []
    /// True if the home directory is written as `~`.
    package var shortensHomePaths = false
    /// True if nothing that a test has stored or run is kept: no stores, no statements and no attachments.
    package var leavesOutContent = false
    /// The key of the hashes; nil for a secret random key, which each process generates anew.
    package var salt: String?

    package init() {}

    /// True if the rules leave out nothing.
    package var isEmpty: Bool {
        !concernStores && attachments.isEmpty && !shortensHomePaths && !leavesOutContent
    }

    /// True if copies of stores are changed.
    package var concernStores: Bool { !tables.isEmpty || !columns.isEmpty }

    /// Adds the rules of `other`.
    package mutating func add(_ other: RedactionRules) {
        tables += other.tables.filter { !tables.contains($0) }
        columns += other.columns.filter { !columns.contains($0) }
        attachments += other.attachments.filter { !attachments.contains($0) }
        shortensHomePaths = shortensHomePaths || other.shortensHomePaths
        leavesOutContent = leavesOutContent || other.leavesOutContent
        salt = salt ?? other.salt
    }

    // MARK: What they say

    /// Returns true if an attachment is left out: a pattern matches its name, or the name of its file.
    package func leavesOut(attachment name: String, file path: String? = nil) -> Bool {
        let names = [name, path.map { Path.name(of: $0) }].compactMap(\.self)
        return leavesOutContent
            || attachments.contains { pattern in names.contains { Self.matches(pattern, $0) } }
    }

    func drop(table: String) -> Bool { tables.contains { Self.matches($0, table) } }

    func method(of column: String, in table: String) -> Method? {
        .strictest(
            columns.filter { Self.matches($0.table, table) && Self.matches($0.column, column) }
                .map(\.method))
    }

    private static func matches(_ pattern: String, _ name: String) -> Bool {
        sqlite3_strglob(folded(pattern), folded(name)) == 0
    }

    // MARK: Hashes

    /// The key of the hashes.
    var key: [UInt8] { salt.map { Array($0.utf8) } ?? Self.randomKey }

    private static let randomKey: [UInt8] = {
        var generator = SystemRandomNumberGenerator()
        return (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }()

    /// Returns the HMAC-SHA-256 of a message (<https://www.rfc-editor.org/rfc/rfc2104>).
    package static func hash(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: 32)
        failure_artifacts_hmac_sha256(key, key.count, message, message.count, &result)
        return result
    }
}

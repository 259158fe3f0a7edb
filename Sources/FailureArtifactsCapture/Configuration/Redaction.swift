internal import FailureArtifactsSQLite

/// Something that must not get into a bundle.
///
/// Names of tables, columns and attachments may be patterns as SQLite's `GLOB` has them: `*` for any characters,
/// `?` for one, `[a-c]` for one of several. As for SQLite the case of ASCII letters does not count. Where several
/// redactions apply to a column, the one that leaves least wins: ``blank(_:of:)``, then ``mask(_:of:)``, then
/// ``hash(_:of:)``.
///
/// ```swift
/// configuration.redactions = [
///     .drop(table: "sessions"), .hash("email", of: "users"), .blank("*token*"),
///     .leaveOut(attachment: "*.log"),
/// ]
/// ```
public struct Redaction: Sendable, Equatable {
    enum Kind: Equatable {
        case table(String)
        case column(RedactionRules.Column)
        case attachment(String)
        case homePaths
        case content
    }

    let kind: Kind

    /// Drops tables, with their indexes and triggers.
    ///
    /// - Parameter table: The table's name, or a pattern.
    /// - Returns: The redaction.
    public static func drop(table: String) -> Redaction { Redaction(kind: .table(table)) }

    /// Removes a column's values: null, or an empty value of the same type where the column is `NOT NULL`.
    ///
    /// Values that must differ from each other, because of a key or a unique index, are hashed instead if they
    /// cannot be null.
    ///
    /// - Parameters:
    ///   - column: The column's name, or a pattern.
    ///   - table: The table's name, or a pattern.
    /// - Returns: The redaction.
    public static func blank(_ column: String, of table: String = "*") -> Redaction {
        Redaction(kind: .column(.init(table: table, column: column, method: .blank)))
    }

    /// Replaces each character of a column's texts by an asterisk, each byte of blobs by zero, and numbers by 0.
    ///
    /// How long the values were can be seen. Those that must differ from each other are hashed instead.
    ///
    /// - Parameters:
    ///   - column: The column's name, or a pattern.
    ///   - table: The table's name, or a pattern.
    /// - Returns: The redaction.
    public static func mask(_ column: String, of table: String = "*") -> Redaction {
        Redaction(kind: .column(.init(table: table, column: column, method: .mask)))
    }

    /// Replaces a column's values by keyed hashes (HMAC-SHA-256) of the same type, so that equal values stay equal:
    /// in all tables and stores, and, with a ``CaptureConfiguration/redactionSalt``, in all bundles.
    ///
    /// - Parameters:
    ///   - column: The column's name, or a pattern.
    ///   - table: The table's name, or a pattern.
    /// - Returns: The redaction.
    public static func hash(_ column: String, of table: String = "*") -> Redaction {
        Redaction(kind: .column(.init(table: table, column: column, method: .hash)))
    }

    /// Leaves out what tests attach; its name and size are kept.
    ///
    /// - Parameter attachment: The attachment's name, or a pattern.
    /// - Returns: The redaction.
    public static func leaveOut(attachment: String) -> Redaction {
        Redaction(kind: .attachment(attachment))
    }

    /// Leaves out all that tests have stored, run and attached: stores are described only.
    public static var leaveOutContent: Redaction { Redaction(kind: .content) }

    /// Writes the home directory as `~` where its path is in paths, messages and statements.
    public static var shortenHomePaths: Redaction { Redaction(kind: .homePaths) }
}

extension CaptureConfiguration {
    /// The redactions, for those who apply them.
    var redactionRules: RedactionRules {
        var rules = RedactionRules()
        for redaction in redactions {
            switch redaction.kind {
            case .table(let name): rules.tables.append(name)
            case .column(let column): rules.columns.append(column)
            case .attachment(let name): rules.attachments.append(name)
            case .homePaths: rules.shortensHomePaths = true
            case .content: rules.leavesOutContent = true
            }
        }
        rules.salt = redactionSalt
        return rules
    }

    /// Takes over rules that come from a file.
    mutating func setRedactions(_ rules: RedactionRules) {
        redactions = rules.tables.map { Redaction(kind: .table($0)) }
        redactions += rules.columns.map { Redaction(kind: .column($0)) }
        redactions += rules.attachments.map { Redaction(kind: .attachment($0)) }
        if rules.shortensHomePaths { redactions.append(.shortenHomePaths) }
        if rules.leavesOutContent { redactions.append(.leaveOutContent) }
        redactionSalt = rules.salt
    }
}

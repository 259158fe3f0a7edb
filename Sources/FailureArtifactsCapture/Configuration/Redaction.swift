internal import FailureArtifactsSQLite

/// A rule for content that must not get into a bundle.
///
/// Names of tables, columns and attachments may be patterns of SQLite's `GLOB` operator. In these, `*` stands for any
/// characters, `?` for one character, and `[a-c]` for one of several. As in SQLite's names, the case of ASCII letters
/// is ignored.
///
/// If several redactions apply to a column, the one that keeps the least takes precedence. The order is
/// ``blank(_:of:)``, ``mask(_:of:)``, ``hash(_:of:)``.
///
/// ```swift
/// configuration.redactions = [
///     .drop(table: "sessions"), .hash("email", of: "users"), .blank("*token*"),
///     .leaveOut(attachment: "*.log"),
/// ]
/// ```
public struct Redaction: Sendable, Equatable {
    /// The rule, in the form in which it is applied.
    let rules: RedactionRules

    init(_ rules: RedactionRules) { self.rules = rules }

    private init(_ set: (inout RedactionRules) -> Void) {
        var rules = RedactionRules()
        set(&rules)
        self.rules = rules
    }

    private init(_ method: RedactionRules.Method, _ column: String, of table: String) {
        self.init { $0.columns = [.init(table: table, column: column, method: method)] }
    }

    /// Drops tables, with their indexes and triggers.
    ///
    /// - Parameter table: The table's name, or a pattern.
    /// - Returns: The redaction.
    public static func drop(table: String) -> Redaction { Redaction { $0.tables = [table] } }

    /// Removes a column's values: null, or an empty value of the same type if the column is `NOT NULL`.
    ///
    /// Values that must be unique, because of a key or a unique index, are hashed instead if they cannot be null.
    ///
    /// - Parameters:
    ///   - column: The column's name, or a pattern.
    ///   - table: The table's name, or a pattern.
    /// - Returns: The redaction.
    public static func blank(_ column: String, of table: String = "*") -> Redaction {
        Redaction(.blank, column, of: table)
    }

    /// Replaces each character of a column's texts with an asterisk, each byte of blobs with zero, and numbers with 0.
    ///
    /// The lengths of the values stay visible. Values that must be unique are hashed instead.
    ///
    /// - Parameters:
    ///   - column: The column's name, or a pattern.
    ///   - table: The table's name, or a pattern.
    /// - Returns: The redaction.
    public static func mask(_ column: String, of table: String = "*") -> Redaction {
        Redaction(.mask, column, of: table)
    }

    /// Replaces a column's values with keyed hashes (HMAC-SHA-256) of the same type, so that equal values stay equal.
    ///
    /// This holds in all tables and stores. With a ``CaptureConfiguration/redactionSalt``, it also holds in all
    /// bundles.
    ///
    /// - Parameters:
    ///   - column: The column's name, or a pattern.
    ///   - table: The table's name, or a pattern.
    /// - Returns: The redaction.
    public static func hash(_ column: String, of table: String = "*") -> Redaction {
        Redaction(.hash, column, of: table)
    }

    /// Leaves out test attachments, but keeps their names and sizes.
    ///
    /// - Parameter attachment: The attachment's name, the name of its file, or a pattern.
    /// - Returns: The redaction.
    public static func leaveOut(attachment: String) -> Redaction {
        Redaction { $0.attachments = [attachment] }
    }

    /// Leaves out all content that tests have stored, run and attached.
    ///
    /// Stores are only described.
    public static var leaveOutContent: Redaction { Redaction { $0.leavesOutContent = true } }

    /// Replaces the home directory's path with `~` in paths, messages and statements.
    public static var shortenHomePaths: Redaction { Redaction { $0.shortensHomePaths = true } }
}

extension CaptureConfiguration {
    /// The redaction rules in the form in which they are applied.
    var redactionRules: RedactionRules {
        var rules = RedactionRules()
        for redaction in redactions { rules.add(redaction.rules) }
        rules.salt = redactionSalt
        return rules
    }
}

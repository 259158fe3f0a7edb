internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite

/// A statement of the log that is run again.
struct ReplayedStatement {
    /// The reason why a statement can't be run again, as a clause.
    struct Obstacle: Error {
        let reason: String
    }

    /// The statements that write nothing but their own database.
    private static let first: Set = [
        "insert", "replace", "update", "delete", "with", "create", "drop", "alter", "reindex",
    ]
    /// The words that make a result depend on the time or on chance.
    private static let unsteady: Set = [
        "random", "randomblob", "current_timestamp", "current_date", "current_time", "now", "datetime",
        "julianday", "strftime", "unixepoch", "date", "time", "uuid", "gen_random_uuid",
    ]

    let record: StatementRecord

    init(_ record: StatementRecord) {
        self.record = record
    }

    /// Runs the statement.
    ///
    /// - Parameter connection: A connection to a private store.
    /// - Throws: An ``Obstacle``, or an error of SQLite.
    func run(in connection: borrowing Connection) throws {
        if record.cut == true { throw Obstacle(reason: "only its start is recorded") }
        let outline = StatementOutline(record.sql)
        let word = StatementOutline.words(of: record.sql, limit: 1).first ?? ""
        // These change no rows.
        if outline.kind == .maintenance || outline.kind == .walMode { return }
        guard Self.first.contains(word) || outline.kind == .setting, !outline.isElsewhere else {
            throw Obstacle(reason: "a statement of this kind is not run again")
        }
        let statement = try connection.prepare(record.sql)
        guard statement.parameterCount == 0 else {
            throw Obstacle(reason: "its values are not recorded")
        }
        while try statement.step() {}
    }

    /// A word of the statement that makes its result depend on the time or on chance; nil without one.
    var unsteadyWord: String? {
        let words = StatementOutline.words(of: record.sql, limit: 400)
        return words.indices.first { index in
            Self.unsteady.contains(words[index])
                && (words[index].hasPrefix("current_") || words[index] == "now"
                    || words.dropFirst(index + 1).first == "(")
        }.map { words[$0] }
    }
}

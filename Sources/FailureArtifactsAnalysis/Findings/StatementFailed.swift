internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A statement that failed with an error of SQLite; ``Busy`` finds those that found the store locked.
enum StatementFailed: FindingRule {
    static let code = Finding.Code.statementFailed

    /// The reason to take an error for the one that failed the test.
    private enum Evidence {
        case named
        /// The message has only what all errors of its kind have in common, or another statement may have failed with it.
        case similar
        case none

        var confidence: Finding.Confidence {
            switch self {
            case .named: .certain
            case .similar: .likely
            case .none: .possible
            }
        }
    }

    private typealias Failure = StatementRecord.Failure

    /// The maximum number of errors that the message doesn't name.
    private static let maximumOthers = 3

    static func findings(in store: Timeline, of failure: FailureEvidence) throws -> [Finding] {
        let message = failure.message
        let quoted = store.statement(namedIn: message)
        var named: [(statement: Timeline.Statement, error: Failure, evidence: Evidence)] = []
        var others: [(statement: Timeline.Statement, error: Failure)] = []
        for statement in store.testStatements.reversed() {
            guard let error = statement.record.error, !error.isLock else { continue }
            // The row that made a COMMIT fail is another finding, and tells more.
            guard statement.record.leftOpen != true else { continue }
            let isQuoted = statement.order == quoted?.order
            if isQuoted || message.names(error) {
                // Of several statements with the same error, the last one failed the test, unless the message has the text of
                // another one.
                let same = named.firstIndex { $0.error == error }
                if let same, isQuoted { named.remove(at: same) }
                guard isQuoted || same == nil else { continue }
                named.append((statement, error, isQuoted || !error.isGeneral ? .named : .similar))
            } else if others.count < maximumOthers {
                others.append((statement, error))
            }
        }
        var findings = try named.map {
            try finding($0.error, $0.statement, $0.evidence, in: store, failure)
        }
        if named.isEmpty, let finding = try unlogged(quoted, in: store, failure) {
            findings.append(finding)
        }
        return try findings
            + others.map { try finding($0.error, $0.statement, .none, in: store, failure) }
    }

    /// Returns the finding for an error that only the message names, because other code ran the statement, for example.
    private static func unlogged(
        _ quoted: Timeline.Statement?, in store: Timeline, _ failure: FailureEvidence
    ) throws -> Finding? {
        let text = failure.message.text
        let isElsewhere = failure.stores.contains { other in
            other !== store
                && other.testStatements.contains { $0.record.error.map(failure.message.names) == true }
        }
        guard !isElsewhere else { return nil }
        if let missing = MissingName(in: text) {
            // The statement, and so its store, is unknown.
            let hasTable = failure.stores.contains { $0.schema.tables[folded(missing.name)] != nil }
            if let finding = try finding(missing, nil, hasTable ? .none : .named, in: store, failure) {
                return finding
            }
        }
        let kinds = ["UNIQUE", "FOREIGN KEY", "CHECK", "NOT NULL", "PRIMARY KEY"].map {
            Failure(code: 19, message: "\($0) constraint failed")
        }
        let general = [8, 11, 13, 18, 20].map { Failure(code: $0, message: SQLiteError.message(of: $0)) }
        guard let quoted, let error = (kinds + general).first(where: { text.contains($0.message) }),
            quoted.writes || error.code != 19
        else { return nil }
        return try finding(error, quoted, .named, in: store, failure)
    }

    private static func finding(
        _ error: Failure, _ statement: Timeline.Statement, _ evidence: Evidence,
        in store: Timeline, _ failure: FailureEvidence
    ) throws -> Finding {
        let missing = error.code & 0xff == 1 ? MissingName(in: error.message) : nil
        if let missing, let finding = try finding(missing, statement, evidence, in: store, failure) {
            return finding
        }
        let isConstraint = error.code & 0xff == 19
        let isHandled = isConstraint && evidence == .none && isFollowedByUpdate(statement, in: store)
        let isRead = statement.outline.table.map(store.asked.tables.contains) ?? false
        let text = SafeText.line(error.message)
        let table = statement.outline.table.flatMap { store.schema.tables[$0]?.name }
        let explanation =
            switch evidence {
            case .named where statement.record.error == nil:
                "The message names the error"
                    + (error.message.hasPrefix("FOREIGN") && statement.outline.kind == .delete
                        ? "; other rows refer to the row that should be deleted." : ".")
            case .named: "The statement failed with the error that the message names."
            case .similar:
                "The message names such an error, and this is the last statement that "
                    + (statement.record.error == nil ? "may have failed with it." : "failed with one.")
            case .none where isHandled: "The statement failed, and then an UPDATE changed the table."
            case .none:
                "The statement failed. The error isn't in the message, so the code may have ignored it."
            }
        let existing = isConstraint ? existingRows(error, statement, in: store, failure.effort) : []
        let writer = existing.first.flatMap { row in
            store.lastStep(
                where: { _, change in change.key == row.key.map(\.value) && change.kind == .inserted },
                of: row.table)
        }.map { store.steps[$0.index] }
        let origin = writer.map { " \(store.title(of: $0)) inserted the row in its way." }
        var finding = Finding(
            code: isConstraint ? .constraintFailed : code,
            title: table.map { "\(text) in a statement on \($0)" } ?? "A statement failed: \(text)",
            confidence: evidence.confidence, store: store.name,
            rows: existing, statement: statement.record, explanation: explanation + (origin ?? ""),
            evidence: evidence != .none ? .error : isHandled || !isRead ? .other : .loss)
        finding.add([writer.flatMap(store.otherTest)].compactMap(\.self), "The transaction is")
        return finding
    }

    // MARK: - Constraints

    /// True if the connection's next write is an `UPDATE` of the same table, as when a row is inserted or else updated.
    private static func isFollowedByUpdate(
        _ statement: Timeline.Statement, in store: Timeline
    ) -> Bool {
        let next = store.testStatements.first {
            $0.order > statement.order && $0.record.connection == statement.record.connection
                && $0.writes
        }
        return next?.outline.kind == .update && next?.outline.table == statement.outline.table
            && next?.hasChangedRows == true
    }

    /// Returns the row that already has the values that must be unique.
    private static func existingRows(
        _ error: Failure, _ statement: Timeline.Statement, in store: Timeline,
        _ effort: Effort
    ) -> [Finding.Row] {
        guard let start = error.message.firstRange(of: "UNIQUE constraint failed: ")?.upperBound else {
            return []
        }
        let names = error.message[start...].split(separator: ",").compactMap {
            $0.split(separator: ".").last.map { String($0.filter { $0 != " " }) }
        }
        let row = store.rowInTheWay(of: statement, showing: names, StepBudget(steps: effort.steps))
        return row.map { [$0] } ?? []
    }

    // MARK: - Missing names

    /// Returns the finding about a table or a column that a statement names; nil if the store has it.
    private static func finding(
        _ missing: MissingName, _ statement: Timeline.Statement?, _ evidence: Evidence,
        in store: Timeline, _ failure: FailureEvidence
    ) throws -> Finding? {
        let other = failure.stores.first {
            $0 !== store && missing.kind == .table && $0.schema.tables[folded(missing.name)] != nil
        }.map { "Store '\(SafeText.line($0.name))' has a table of this name. " }
        if let database = missing.database {
            return Finding(
                code: .schemaError,
                title:
                    "SQLite found no \(missing.kind.rawValue) \(SafeText.line("\(database).\(missing.name)"))",
                confidence: evidence.confidence, store: store.name, statement: statement?.record,
                explanation: (other ?? "") + "The statement names an attached database.",
                evidence: evidence == .none ? .loss : .error)
        }
        let names: [String]
        switch missing.kind {
        case .table:
            names = store.schema.objects.filter { $0.type == "table" || $0.type == "view" }.map(\.name)
        case .column:
            let tables =
                missing.table.map { [store.schema.tables[folded($0)]].compactMap { $0 } } ?? store.tables
            names = tables.flatMap { $0.columns.map(\.name) }
            guard !names.isEmpty else { return nil }
        }
        guard !names.contains(where: { folded($0) == folded(missing.name) }) else { return nil }
        let nearest = Spelling.nearest(to: missing.name, among: names)
        var finding = Finding(
            code: .schemaError,
            title: "The store has no \(missing.kind.rawValue) \(SafeText.line(missing.name))",
            confidence: evidence.confidence, store: store.name, statement: statement?.record,
            explanation: (other ?? "")
                + (nearest.map { "The nearest name is \(SafeText.line($0)). " } ?? "")
                + (try appliedMigrations(in: store)),
            // Code that looks whether a table exists asks the schema, as a rule.
            evidence: evidence == .none ? .loss : .error)
        if let (step, change) = schemaChange(of: missing, in: store) {
            finding.explanation += " \(store.title(of: step)) \(change)."
            finding.add([store.otherTest(of: step)].compactMap(\.self), "The transaction is")
        }
        return finding
    }

    /// Returns the last transaction that changed or dropped what is missing, or by which another test created its table
    /// or set the schema's version, with its effect as a clause.
    private static func schemaChange(
        of missing: MissingName, in store: Timeline
    ) -> (Timeline.Step, String)? {
        let name = folded(missing.kind == .table ? missing.name : missing.table ?? "")
        for step in store.steps.reversed() {
            let change = step.changes.schema.last { folded($0.name) == name }
            if let change, change.change != .created || step.isOfOtherTest {
                return (step, "\(change.change.rawValue) \(change.type) \(SafeText.line(change.name))")
            }
            if step.isOfOtherTest, let version = step.changes.userVersion {
                return (step, "set the user_version to \(version)")
            }
        }
        return nil
    }

    private static func appliedMigrations(in store: Timeline) throws -> String {
        if store.schema.tables["grdb_migrations"] != nil {
            let rows = try store.rows(
                "SELECT identifier FROM grdb_migrations ORDER BY rowid DESC", limit: 1)
            let last = rows.first.map { StoredText.text(of: $0[0], width: 60) }
            return last.map { "The last migration that was applied is \($0)." }
                ?? "No migration was applied."
        }
        return "The store's user_version is \(store.schema.userVersion)."
    }
}

/// A table or a column that one of SQLite's messages says is missing.
private struct MissingName {
    enum Kind: String { case table, column }
    let kind: Kind
    let name: String
    var table: String?
    /// The attached database that the message names; nil without one.
    private(set) var database: String?

    init?(in text: String) {
        func word(after start: String) -> String? {
            guard let range = text.firstRange(of: start) else { return nil }
            let word = text[range.upperBound...].prefix {
                $0.isLetter || $0.isNumber || "_.$".contains($0)
            }
            // A schema or a table may precede the name.
            return word.split(separator: ".").last.map(String.init)
        }
        if let name = word(after: "no such table: ") {
            (kind, self.name) = (.table, name)
            let schema = text.firstRange(of: "no such table: ").map { text[$0.upperBound...] } ?? ""
            let first = schema.prefix { $0.isLetter || $0.isNumber || "_$".contains($0) }
            if first != name, folded(String(first)) != "main" { database = String(first) }
        } else if let name = word(after: "no such column: ") {
            (kind, self.name) = (.column, name)
        } else if let name = word(after: " has no column named ") {
            (kind, self.name, table) = (.column, name, word(after: "table "))
        } else {
            return nil
        }
    }
}

extension StatementRecord.Failure {
    /// True if the store, or a table of it, was locked.
    fileprivate var isLock: Bool { [5, 6].contains(code & 0xff) }
    /// True if the message is only the general text of several kinds of errors.
    fileprivate var isGeneral: Bool {
        [1, 19].contains(code & 0xff) && message == SQLiteError.message(of: code)
    }
}

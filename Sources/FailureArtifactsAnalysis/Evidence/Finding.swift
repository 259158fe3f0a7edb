package import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSystem

package struct Finding: Equatable, Sendable {
    /// The kinds of findings, with the names that users see.
    package enum Code: String, CaseIterable, Encodable, Sendable {
        // Facts.
        case foreignKeyViolation = "foreign-key-violation"
        case integrity
        case checkViolation = "check-violation"
        case notNullViolation = "not-null-violation"
        case statementFailed = "statement-failed"
        case constraintFailed = "constraint-failed"
        case busy
        case openTransaction = "open-transaction"
        case rolledBack = "rolled-back"
        case schemaError = "schema-error"
        case invariantBroken = "invariant-broken"
        // Likely causes.
        case noEffect = "no-effect"
        case orphan
        case unexpectedDelete = "unexpected-delete"
        // Relations to the assertion and to another run.
        case resultChanged = "result-changed"
        case wrongQuery = "wrong-query"
        case failingQuery = "failing-query"
        case query
        case otherTest = "other-test"
        case differenceFromPass = "difference-from-pass"
        case noDifference = "no-difference"

        /// True for a query itself: the failing one, or one that may be it.
        var isOfQuery: Bool { self == .failingQuery || self == .query }
    }

    /// The changes that an experiment undid, and the result of the query without them.
    package struct Undone: Equatable, Sendable {
        package var transactions: [Int]
        package var rows: [Row]
        package var result: String
        /// True if it is the value that the assertion expected.
        package var isExpected: Bool
    }

    /// The degree of certainty that a finding is true and concerns the failure.
    package enum Confidence: String, Comparable, Encodable, Sendable {
        case certain
        case likely
        case possible

        package static func < (first: Confidence, second: Confidence) -> Bool {
            first != second && (first == .possible || second == .certain)
        }
    }

    /// A means by which a statement changed a row that it doesn't name itself.
    package struct Means: Equatable, Sendable {
        package enum Kind: String, Encodable, Sendable {
            case trigger
            case foreignKey = "foreign-key"
            case replace
        }

        package let kind: Kind
        /// The trigger's name, the columns of the foreign key such as `tag.noteID`, or the table with the replaced row.
        package let name: String
        /// The place of the statement that defined the trigger; nil for another means, or if it is unknown.
        var source: StatementRecord.Source?
        private let description: String
        var sentence: String {
            description
                + (source.map { ". That trigger was created at \(SafeText.line($0.place))." } ?? ".")
        }

        /// - `description`: a sentence without its period.
        init(_ kind: Kind, _ name: String, _ description: String) {
            self.kind = kind
            self.name = name
            self.description = description
        }
    }

    /// A statement or its result in the last passing run, and in the failing one.
    package struct Comparison: Equatable, Sendable {
        package var then: MarkedText
        package var now: MarkedText
        /// True if the texts are the statement's with its values.
        package var isOfStatement = false

        /// The texts with their labels.
        package var lines: [(label: String, text: MarkedText)] { [("then", then), ("now", now)] }
    }

    package struct Row: Equatable, Sendable {
        /// The change that the finding is about.
        package enum Change: String, Encodable, Sendable {
            case inserted, updated, deleted
            /// The row is in the store and shouldn't be, or has the wrong content.
            case present
            case missing
        }

        package struct KeyValue: Equatable, Sendable {
            package var column: String
            package var value: StoredValue

            var valueText: String { StoredText.text(of: value, width: 40) }
            /// The value after the name of its column, such as `id 31`.
            var text: String { "\(SafeText.line(column)) \(valueText)" }
        }

        package var table: String
        package var key: [KeyValue]
        package var change: Change
        package var columns: [RowChange.Cell]
        /// True if several statements of the transaction may have changed it, so that no statement alone did.
        package var isOfWholeTransaction = false

        /// Returns the key of a row.
        static func key(_ columns: [String], _ values: [StoredValue]) -> [KeyValue] {
            zip(columns, values).map { KeyValue(column: $0, value: $1) }
        }

        package init(
            table: String, key: [KeyValue], change: Change, columns: [RowChange.Cell] = []
        ) {
            self.table = table
            self.key = key
            self.change = change
            self.columns = columns
        }
    }

    package var code: Code
    package var title: String
    package var confidence: Confidence
    /// The name of the store; nil if the finding isn't about one.
    package var store: String?
    /// True if the bundle has several stores, so that texts name this one.
    package var isOneOfSeveralStores = false
    package var rows: [Row] = []
    /// The number of rows that the transaction changed in the same way as ``rows``, of the same table; nil if ``rows``
    /// has all of them, or if it is unknown.
    package var rowsOfTransaction: Int64?
    /// The transaction's number in the store's history; nil if unknown.
    package var transaction: Int?
    package var statement: StatementRecord?
    /// The statements of the transaction that can have changed the rows, if there are several; otherwise empty.
    package var statements: [StatementRecord] = []
    /// The means by which the statement changed the first row; empty if it names the row itself, or if it is unknown.
    package internal(set) var means: [Means] = []
    /// One or two sentences with the evidence.
    package var explanation: String
    /// An assertion that fails as long as the store is broken; nil if none is known.
    var assertion: RowAssertion?
    package var evidence = Evidence.other
    /// True if the statement didn't run, so that the line belongs to a statement beside its place.
    package internal(set) var isBeside = false
    /// True for the effect of the test's preparation.
    var isArranged = false
    /// The number of the transaction that wrote values of the query's result; nil for other findings.
    var writer: Int?
    /// The other tests that ran the transaction or the statement.
    package internal(set) var otherTests: [OtherTest] = []
    /// True if undoing all that other tests wrote gives the expected result.
    var isFixOfOthers = false
    /// True if undoing the changes certainly gives what the assertion expects: a rare value of the failing query.
    var isExactFix = false
    /// True for such changes that another test itself left before this one began.
    var isLeftBehind = false
    /// True for a transaction of another test without which, and without all others of other tests, the test would fail,
    /// too.
    var isIncidental = false
    package var undone: Undone?
    /// The difference from the last passing run; nil for another finding.
    package var comparison: Comparison?
    /// A sentence about the last commit of the line; nil if unknown.
    package var lineCommit: String?
    /// The place of the statement's text, if that isn't where the statement ran; nil if unknown.
    var textSource: StatementRecord.Source?
    /// The sentences about the sources in the working directory.
    package var sourceNotes: [String] {
        [lineCommit, textSource.map { "The text of the statement is at \(SafeText.line($0.place))." }]
            .compactMap(\.self)
    }

    package var source: StatementRecord.Source? { statement?.source }
}

extension Finding: JSONDocument {
    package var json: JSONObject {
        // The line of the finding's own statement is a key of the finding.
        func json(_ record: StatementRecord, _ source: StatementRecord.Source? = nil) -> JSONObject {
            [
                "sql": record.sql, "values": record.values, "connection": record.connection,
                "at": record.at, "source": source,
            ]
        }
        return [
            "code": code, "title": title, "confidence": confidence, "evidence": evidence,
            "store": store,
            "rows": rows.nonEmpty, "rowsOfTransaction": rowsOfTransaction, "transaction": transaction,
            "statement": statement.map { json($0) },
            "statements": statements.map { json($0, $0.source) }.nonEmpty, "source": source,
            "caller": statement?.callerInAnotherFile, "means": means.nonEmpty,
            "otherTests": otherTests.nonEmpty, "explanation": explanation, "undone": undone,
            "then": comparison?.then.text, "now": comparison?.now.text, "lineCommit": lineCommit,
            "textSource": textSource,
        ]
    }
}

extension Finding {
    mutating func add(_ means: [Means]) {
        self.means += means
        explanation = ([explanation] + means.map(\.sentence)).joined(separator: " ")
    }
}

extension Finding.Means: JSONDocument {
    package var json: JSONObject { ["kind": kind, "name": name, "source": source] }
}

extension Finding.Undone: JSONDocument {
    package var json: JSONObject {
        [
            "transactions": transactions.nonEmpty, "rows": rows.nonEmpty, "result": result,
            "isExpected": isExpected,
        ]
    }
}

extension Finding.Row: JSONDocument {
    package var json: JSONObject {
        let cells = columns.map { cell -> (String, JSONObject) in
            (cell.column, ["before": JSONCell(cell.old), "after": JSONCell(cell.new)])
        }
        return [
            "table": table, "key": JSONCell.object(key.map { ($0.column, $0.value) }),
            "change": change,
            "columns": cells.isEmpty ? nil : Dictionary(cells, uniquingKeysWith: { first, _ in first }),
        ]
    }
}

extension Finding.Row {
    /// A description such as `posting id = 31`.
    package var title: String {
        let key = key.map { "\($0.column) = \($0.valueText)" }
        return SafeText.line(table) + (key.isEmpty ? "" : " " + key.joined(separator: ", "))
    }

    /// A description such as `posting id = 31 inserted: transferID NULL → 9`.
    package var text: String { text(columns: 6) }

    package func text(columns limit: Int) -> String {
        let cells = columns.prefix(limit).map { cell in
            let name = SafeText.line(cell.column)
            switch (cell.old, cell.new) {
            case (let old?, let new?):
                let texts = StoredText.text(of: old, new, width: 40)
                return "\(name) \(texts.old) → \(texts.new)"
            case (let value?, nil), (nil, let value?):
                return "\(name) \(StoredText.text(of: value, width: 40))"
            case (nil, nil): return name
            }
        }
        let change = change == .present ? "is in the store" : self.change.rawValue
        return title + " " + change + (isOfWholeTransaction ? " by the whole transaction" : "")
            + (cells.isEmpty ? "" : ": " + cells.joined(separator: ", "))
            + (columns.count > limit ? ", …" : "")
    }
}

extension Finding {
    /// The transaction or one of several stores, the function and the line, and a note on another test; empty without all
    /// of these.
    package var place: String {
        var parts: [String] = []
        let store = isOneOfSeveralStores ? store.map { SafeText.line($0) } : nil
        if let transaction {
            parts.append("transaction \(transaction)" + (store.map { " of \($0)" } ?? ""))
        } else if let store {
            parts.append("store \(store)")
        }
        if let source {
            let function = source.function.map { SafeText.line($0) + " " } ?? ""
            parts.append((isBeside ? "beside " : "") + function + SafeText.line(source.place))
        }
        if !otherTests.isEmpty { parts.append("of another test") }
        return parts.joined(separator: ", ")
    }

    /// One line such as `posting 31 has no transfer, transaction 6, Ledger.remove(_:) Sources/Ledger.swift:42`.
    package var line: String {
        let title = TextWidth.shortened(SafeText.line(title), to: 300)
        return place.isEmpty ? title : title + ", " + TextWidth.abridged(place, to: 300)
    }

    /// The words before ``line`` where it stands beside a failure; weak evidence is said to be weak.
    package var label: String {
        confidence == .possible ? "Weak hint (possible)" : "Cause (\(confidence.rawValue))"
    }

    /// The lines that stand beside a failure: ``line`` after ``label``, and what a difference consists of.
    package var summary: [String] {
        ["\(label): \(line)"] + (comparison?.lines ?? []).map { "\($0.label): \($0.text.text)" }
            + sourceNotes
    }
}

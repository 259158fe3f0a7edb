internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A row that another test changed, so that a query of the failing test, or a trigger of its statements, returned something
/// else: a setting, for example.
enum SharedRow: FindingRule {
    static let code = Finding.Code.otherTest

    private struct Place: Hashable {
        let table: String
        /// A value of the row; nil for all rows.
        let value: Value?
    }

    /// A query of the failing test that names a row by its values.
    private struct Read {
        let statement: Timeline.Statement
        let sql: String
        let values: [Value]
        let subject: String
    }

    static func findings(in store: Timeline, of failure: FailureEvidence) throws -> [Finding] {
        guard store.statements.contains(where: { !$0.isOfTest }) else { return [] }
        let budget = StepBudget(steps: failure.effort.steps)
        // The changes by other tests of rows that no statement of the failing test has changed.
        var changes: [Place: [Timeline.Statement]] = [:]
        let triggers = Dictionary(grouping: store.triggers) { folded($0.table) }.mapValues {
            $0.flatMap(queries)
        }
        // The last reads of the same rows.
        var reads: [String: (read: Read, changes: [Timeline.Statement])] = [:]
        for statement in store.statements where statement.record.error == nil && !budget.isUsedUp {
            if statement.isOfTest, !changes.isEmpty {
                for read in Self.reads(of: statement, triggers) {
                    let candidates = self.changes(of: read, in: changes)
                    if !candidates.isEmpty { reads[read.sql + "\(read.values)"] = (read, candidates) }
                }
            }
            guard statement.writes, statement.record.changes != 0, let table = statement.outline.table
            else { continue }
            let isOfAll =
                statement.outline.kind != .insert
                && SQLText(statement.record.sql, limit: maximumTokens).conditions.isEmpty
            let places = isOfAll ? [nil] : values(of: statement).map(Optional.some)
            if statement.isOfTest, isOfAll {
                changes = changes.filter { place, _ in place.table != table }
            } else if statement.isOfTest {
                for value in places { changes[Place(table: table, value: value)] = nil }
            } else if statement.outline.mayHaveNoEffect {
                for value in places {
                    changes[Place(table: table, value: value), default: []].append(statement)
                }
            }
        }
        let last = reads.values.sorted { $0.read.statement.order > $1.read.statement.order }
        let found = last.prefix(maximumReads).lazy.compactMap {
            finding($0.read, $0.changes, in: store, budget)
        }
        return Array(found.prefix(1))
    }

    /// The maximum numbers of reads, and of other tests before each, whose states are rebuilt.
    private static let (maximumReads, maximumTests) = (20, 4)

    /// A query of a trigger.
    private struct TriggerQuery {
        let trigger: String
        let sql: String
    }

    /// Returns the queries of a trigger that don't depend on the row.
    private static func queries(of trigger: DatabaseSchema.Object) -> [TriggerQuery] {
        let text = SQLText(trigger.sql, limit: maximumTokens)
        return text.tokens.indices.dropLast().compactMap { index in
            guard text.tokens[index].text == "(", text.tokens[index + 1].isWord("select"),
                let end = text.closing(index),
                !text.tokens[index..<end].contains(where: { $0.isWord(in: ["new", "old"]) })
            else { return nil }
            return TriggerQuery(trigger: trigger.name, sql: text.text((index + 1)..<end))
        }
    }

    /// Returns the query that a statement is, or those in the triggers of its table.
    private static func reads(
        of statement: Timeline.Statement, _ triggers: [String: [TriggerQuery]]
    ) -> [Read] {
        let place = statement.record.source.map { " at \(SafeText.line($0.place))" } ?? ""
        if statement.outline.isSelect {
            guard let sql = statement.localSQL, let values = statement.record.boundValues else {
                return []
            }
            return [
                Read(statement: statement, sql: sql, values: values, subject: "The query\(place)")
            ]
        }
        guard statement.writes, let table = statement.outline.table else { return [] }
        return (triggers[table] ?? []).map { query in
            Read(
                statement: statement, sql: query.sql, values: [],
                subject:
                    "The trigger '\(SafeText.line(query.trigger))' of the statement\(place) has a query that"
            )
        }
    }

    /// Returns the changes of rows that a query names, oldest first.
    private static func changes(
        of read: Read, in changes: [Place: [Timeline.Statement]]
    ) -> [Timeline.Statement] {
        let text = SQLText(read.sql, limit: maximumTokens)
        let values = values(of: text, read.values)
        if values.isEmpty { return [] }
        return text.tables.flatMap { table in
            ([nil] + values.map(Optional.some)).flatMap { changes[Place(table: table, value: $0)] ?? [] }
        }.sorted { $0.order < $1.order }
    }

    /// Returns the finding that a query would have returned something else before another test's changes; nil if not, or if
    /// that is unknown.
    private static func finding(
        _ read: Read, _ changes: [Timeline.Statement], in store: Timeline, _ budget: StepBudget
    ) -> Finding? {
        func result(_ path: String) -> QueryResult? {
            .of(read.sql, read.values, inFile: path, store.limits, budget)
        }
        guard let now = result(store.path(at: read.statement)) else { return nil }
        var rest = changes[...]
        for _ in 0..<maximumTests {
            guard let last = rest.last else { break }
            let first = rest.lastIndex { $0.record.test != last.record.test }.map { $0 + 1 } ?? 0
            guard let number = store.step(of: rest[first]).flatMap({ store.steps[$0].number }),
                let earlier = try? store.path(ofState: number - 1), let then = result(earlier)
            else { return nil }
            // A test may restore what it has changed. A new row may be the preparation of a store that tests share.
            if then == now {
                rest = rest[..<first]
                continue
            }
            guard let other = store.otherTest(of: [last]),
                !then.rows.isEmpty || last.record.isOfTest(named: other.name)
            else { return nil }
            func text(_ result: QueryResult) -> String {
                let texts = ResultPart.all.texts(of: result)
                return texts.isEmpty
                    ? "no row" : TextWidth.abridged(texts.prefix(4).joined(separator: ", "), to: 100)
            }
            return Finding(
                code: code,
                title:
                    "\(other.title ?? "Another test") changed \(store.tableName(of: last)), which this test read",
                confidence: .possible, store: store.name,
                transaction: store.step(of: last).flatMap { store.steps[$0].number },
                statement: last.record,
                explanation:
                    "\(read.subject) returned \(text(now)), and would have returned \(text(then)) before that test's changes.",
                evidence: .change)
        }
        return nil
    }

    /// The number of a text's tokens that are looked at.
    private static let maximumTokens = 200

    /// Returns the values of a statement's parameters and literals that are rare.
    private static func values(of statement: Timeline.Statement) -> Set<Value> {
        values(
            of: SQLText(statement.record.sql, limit: maximumTokens),
            (statement.record.knownValues ?? []).filter { $0.bytes == nil }.map(\.value))
    }

    private static func values(of text: SQLText, _ bound: [Value]) -> Set<Value> {
        let literals = text.tokens.compactMap { $0.kind == .text ? Value.text($0.text) : nil }
        return Set((bound + literals).compactMap(key))
    }

    /// Returns a value as it identifies a row, without regard to case; nil if many rows have it.
    private static func key(_ value: Value) -> Value? {
        switch value {
        case .text(let text): text.count > 1 ? .text(folded(text)) : nil
        case .integer(let number): abs(number) >= 100 ? value : nil
        case .null, .real, .blob: nil
        }
    }
}

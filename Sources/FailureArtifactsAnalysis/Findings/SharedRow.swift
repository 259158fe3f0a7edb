internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A row that another test changed, so that a query of the failing test returned something else: a setting, for example.
enum SharedRow: FindingRule {
    static let code = Finding.Code.otherTest

    /// The changes that other tests made to rows with a value, which no statement of the failing test has changed.
    private struct Changes {
        let first: Timeline.Statement
        var last: Timeline.Statement
    }

    private struct Place: Hashable {
        let table: String
        let value: Value
    }

    static func findings(in store: Timeline, of failure: FailureEvidence) throws -> [Finding] {
        guard store.statements.contains(where: { !$0.isOfTest }) else { return [] }
        let budget = StepBudget(steps: failure.effort.steps)
        var changes: [Place: Changes] = [:]
        var found: [Finding] = []
        // The queries by their values, so that each is asked once.
        var seen: Set<String> = []
        for statement in store.statements where statement.record.error == nil && !budget.isUsedUp {
            if statement.writes, statement.record.changes != 0, let table = statement.outline.table {
                for value in values(of: statement) {
                    let place = Place(table: table, value: value)
                    if statement.isOfTest {
                        changes[place] = nil
                    } else if statement.outline.mayHaveNoEffect {
                        // A new row is the usual preparation of a store that tests share.
                        changes[place, default: Changes(first: statement, last: statement)].last =
                            statement
                    }
                }
            } else if statement.isOfTest, statement.outline.isSelect, !changes.isEmpty {
                let values = values(of: statement)
                let read = SQLText(statement.record.sql).tables.lazy.flatMap { table in
                    values.compactMap { changes[Place(table: table, value: $0)] }
                }.first
                if let read, seen.insert(statement.record.sqlWithValues).inserted,
                    let finding = finding(statement, read, in: store, budget)
                {
                    found.append(finding)
                }
            }
        }
        return found.suffix(1)
    }

    /// Returns the finding that a query would have returned something else before other tests' changes; nil if not, or if
    /// that is unknown.
    private static func finding(
        _ query: Timeline.Statement, _ changes: Changes, in store: Timeline, _ budget: StepBudget
    ) -> Finding? {
        guard let sql = query.localSQL, let values = query.record.knownValues,
            values.allSatisfy({ $0.bytes == nil }),
            let number = store.step(of: changes.first).flatMap({ store.steps[$0].number }),
            let earlier = try? store.path(ofState: number - 1),
            let other = store.otherTest(of: [changes.last])
        else { return nil }
        func result(_ path: String) -> QueryResult? {
            guard let connection = try? Connection.untrusted(path, limits: store.limits) else {
                return nil
            }
            budget.limit(connection)
            return (try? QueryResult.of(sql, values.map(\.value), with: [], on: connection)) ?? nil
        }
        guard let now = result(store.path(at: query)), let then = result(earlier), now != then else {
            return nil
        }
        func text(_ result: QueryResult) -> String {
            let texts = ResultPart.all.texts(of: result)
            return texts.isEmpty
                ? "no row" : TextWidth.abridged(texts.prefix(4).joined(separator: ", "), to: 100)
        }
        let place = query.record.source.map { " at \(SafeText.line($0.place))" } ?? ""
        return Finding(
            code: code,
            title:
                "\(other.title ?? "Another test") changed \(store.tableName(of: changes.last)), which this test read",
            confidence: .possible, store: store.name,
            transaction: store.step(of: changes.last).flatMap { store.steps[$0].number },
            statement: changes.last.record,
            explanation:
                "The query\(place) returned \(text(now)), and would have returned \(text(then)) before other tests' changes.",
            evidence: .change)
    }

    /// The number of a text's tokens that are looked at.
    private static let maximumTokens = 200

    /// Returns the values of a statement's parameters and literals that are rare.
    private static func values(of statement: Timeline.Statement) -> Set<Value> {
        let bound = (statement.record.knownValues ?? []).filter { $0.bytes == nil }.map(\.value)
        let literals = SQLText(statement.record.sql, limit: maximumTokens).tokens.compactMap {
            $0.kind == .text ? Value.text($0.text) : nil
        }
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

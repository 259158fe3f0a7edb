internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The query whose result a failed assertion compared, as far as the log and the message tell.
struct Question {
    let store: Timeline
    let statement: Timeline.Statement
    /// The file with the state of the store in which the query ran.
    let path: String
    let values: [Value]
    /// The columns that the query reads, by the folded name of their table.
    let reads: [String: Set<String>]
    /// The statements that had switched on settings of the query's connection, by the settings' names.
    let settings: [String: Timeline.Statement]
    /// The ways to get the assertion's value from the result; ``ResultPart/all`` alone if that is unknown.
    let parts: [ResultPart]
    let claim: Claim
    /// True if the result is certainly the assertion's: the assertion's line ran the query, or the value is rare.
    private(set) var isFailing: Bool
    /// True if the call of the assertion ran no other query, with which code may have made the compared value.
    private(set) var isAlone = false
    /// True if only the second value of an assertion is a query's result: by convention, that is the expected one.
    private(set) var isReversed = false
    /// True if the query found a value of another question's parameters.
    let isSource: Bool
    /// The finding whose transaction wrote values of its result; nil without one.
    var writer: Finding?
    /// The result at the failure; nil if the query can't run outside of the test, for example because it needs a
    /// function of the application.
    let known: QueryResult?

    /// The result at the failure; empty if it isn't known.
    var result: QueryResult { known ?? QueryResult() }

    var record: StatementRecord { statement.record }
    /// The query for a connection that opens the store itself.
    let sql: String

    /// The folded names of the tables that it reads with `LEFT JOIN`.
    var optionalTables: [String] {
        let tokens = SQLText(sql).tokens.filter { !$0.isWord("outer") }
        return tokens.indices.dropLast(2).compactMap { index in
            tokens[index].isWord("left") && tokens[index + 1].isWord("join")
                ? tokens[index + 2].text : nil
        }
    }

    /// True if the expected result may be a coincidence.
    var isCommon: Bool { claim.isCommon || parts == [.rowCount] }

    /// True if one of many experiments may give the expected result by chance.
    var isChance: Bool { isCommon || claim.isChance }

    /// True if the compared part of a result is no row or NULL.
    func isNothing(_ result: QueryResult) -> Bool {
        guard case .cell(let column, _, _)? = parts.first, let row = result.rows.first else {
            return result.rows.isEmpty
        }
        return row[safe: column]?.isNull ?? true
    }

    /// The value that the assertion expects, or of a list the elements that the result lacks; nil without one.
    let wanted: FailureMessage.Operand?

    /// True if the assertion expects a value that a query without rows doesn't give.
    var expectsRows: Bool {
        switch claim.condition {
        case .exists, .contains: true
        case .equals: claim.expected != nil && !claim.expectsNothing
        case .differs, .ordered, .lacks, .unknown: false
        }
    }

    func isExpected(_ result: QueryResult) -> Bool { expectedPart(of: result) != nil }

    /// Returns the part of a result that is the expected value; nil without one.
    func expectedPart(of result: QueryResult) -> ResultPart? {
        let parts = parts == [.all] ? ResultPart.all(for: claim, in: result) : parts
        return parts.map { claim.isAboutOrder ? $0.ordered : $0 }
            .first { $0.meets(claim.condition, in: result) }
    }

    func text(of result: QueryResult) -> String {
        let texts = texts(of: result)
        if texts.isEmpty { return "no row" }
        let rest = texts.count - 4
        return parts[0].description(
            of: texts.prefix(4).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : ""),
            in: result)
    }

    /// Returns the text of an expected result.
    func expectedText(of result: QueryResult) -> String {
        guard let expected = claim.shown, let part = expectedPart(of: result) else {
            return text(of: result) + ", as expected"
        }
        switch part {
        case .rowCount: return "the expected " + part.texts(of: result)[0]
        case .existence: return text(of: result) + ", as expected"
        case .cell where part.isEmbedded: return text(of: result) + ", as expected"
        case .list, .properties:
            let isOrdered =
                claim.element != nil || part.ordered.meets(claim.condition, in: result)
                || claim.expected.map { !$0.hasOrder(in: result) } ?? false
            if case .properties = part, let columns = part.columns(of: claim.expected, in: result) {
                return text(of: result) + ", with \(columns.joined(separator: ", ")) as expected"
            }
            return part.description(
                of: isOrdered ? "the expected \(expected)" : "the elements of the expected \(expected)",
                in: result) + (isOrdered ? "" : ", in another order")
        case .cell, .texts, .sum, .all:
            return part.description(of: "the expected \(expected)", in: result)
        }
    }

    /// Returns the texts of a result's rows or values; of long rows that differ from those at the failure, only the cells
    /// that do.
    private func texts(of result: QueryResult) -> [String] {
        let all = parts[0].ordered.texts(of: result)
        guard parts[0] == .all || parts[0] == .properties(isOrdered: true), result.columns.count > 1
        else { return all }
        let width = 200 / max(1, min(all.count, 4))
        let isOther =
            result != self.result && result.rows.count == self.result.rows.count
            && all.contains { TextWidth.columns(of: $0) > width }
        let texts =
            isOther && result.columns == self.result.columns
            ? zip(result.rows, self.result.rows).enumerated().compactMap { index, pair in
                let columns = result.columns.indices.filter { pair.0[$0] != pair.1[$0] }
                let place = result.rows.count > 1 ? "row \(index + 1): " : ""
                return columns.isEmpty
                    ? nil
                    : place
                        + StoredText.pairs(
                            columns.map { result.columns[$0] }, columns.map { pair.0[$0] })
            } : all
        return texts.map { TextWidth.abridged($0, to: 200 / min(texts.count, 4)) }
    }

    func differ(_ first: QueryResult, _ second: QueryResult) -> Bool {
        parts.contains { $0.texts(of: first) != $0.texts(of: second) }
    }

    /// Asks the question, or a variant with the same parameters; nil if the query fails or is too expensive.
    func ask(
        _ connection: borrowing Connection, _ sql: String? = nil, hasSettings: Bool = true
    ) -> QueryResult? {
        (try? QueryResult.of(
            sql ?? self.sql, values, with: hasSettings ? settings.keys.sorted() : [], on: connection))
            ?? nil
    }

    /// Returns the statements that had switched on settings of a query's connection on which its result can depend.
    private static func settings(
        of statement: Timeline.Statement, in store: Timeline
    ) -> [String: Timeline.Statement] {
        ["case_sensitive_like", "reverse_unordered_selects"].reduce(into: [:]) { settings, name in
            let setting = store.setting(name, of: statement)
            if setting?.outline.isOn(name) == true { settings[name] = setting }
        }
    }

    // MARK: - Finding

    private static let candidateLimit = 40
    /// Functions whose results differ from call to call.
    private static let unsteady: Set = [
        "random", "randomblob", "changes", "total_changes", "last_insert_rowid",
    ]

    private struct Candidate {
        let store: Timeline
        let statement: Timeline.Statement
        let path: String
        let sql: String
        let values: [Value]
        let reads: [String: Set<String>]
        let settings: [String: Timeline.Statement]
        let result: QueryResult?
        /// The number of lines from the call to the assertion in the test's file; nil if unknown.
        var distance: Int?
        /// True if the assertion's line is among the callers, or its expression calls one of them.
        var isOnLine = false
        /// True if it is on the assertion's line, and wrote nothing after it on that line.
        var isLast = false

        /// Returns the number of words in an operand that the result has, from which code may have made its texts.
        func likeness(to words: Set<Substring>) -> Int {
            var found: Set<Substring> = []
            for cell in (result?.rows ?? []).joined() {
                found.formUnion(FailureMessage.words(of: StoredText.text(of: cell, width: 200)))
            }
            return found.intersection(words).count
        }
    }

    /// Finds the questions of a failure, the likeliest one first; two if both operands may be results of queries.
    ///
    /// Without a query that has one of the operands as its result, these are the queries nearest to the assertion.
    static func all(of failure: FailureEvidence, budget: StepBudget) -> [Question] {
        let candidates = candidates(of: failure, budget)
        let claims = Claim.all(in: failure.message)
        var found: [Question] = []
        var supporting: [Question] = []
        let least = candidates.compactMap(\.distance).min()
        let nearest = least.map { least in candidates.filter { $0.distance == least } } ?? candidates
        func matches(
            _ candidates: [Candidate], _ parts: (QueryResult) -> [ResultPart]
        ) -> [(Candidate, [ResultPart])] {
            candidates.compactMap { candidate in
                let parts = candidate.result.map(parts) ?? []
                return parts.isEmpty ? nil : (candidate, parts)
            }
        }
        let ofLine = candidates.filter(\.isOnLine)
        for claim in claims {
            if let (query, parts) = compared(by: claim, among: ofLine) {
                found.append(Question(query, claim, parts))
                supporting += sources(of: query, among: candidates)
                continue
            }
            if claim.element != nil, claim.tested == nil {
                let lists = matches(candidates) { ResultPart.lists(for: claim, in: $0) }
                let distance = lists.compactMap(\.0.distance).min()
                if let (best, parts) = lists.first(where: { $0.0.distance == distance }) {
                    found.append(Question(best, claim, parts))
                }
                continue
            }
            guard let tested = claim.tested else { continue }
            // A value that many queries return says little; only the nearest queries can be the right ones then.
            let matches = matches(tested.telling.isEmpty ? Array(nearest.prefix(3)) : candidates) {
                ResultPart.tested(by: claim, in: $0)
            }
            let near = matches.first { $0.0.distance == least }
            // A truth value comes from any of several queries, if it is only that there is a row.
            guard let (best, parts) = near ?? matches.first,
                parts != [.existence] || nearest.count == 1
            else { continue }
            found.append(Question(best, claim, parts))
            supporting += sources(of: best, among: candidates)
        }
        // The usual order of the operands is right if it is possible.
        if claims.count > 1, found.count == claims.count, found[1].record.order == found[0].record.order
        {
            found.removeLast()
        }
        if claims.count > 1, found.count == 1 {
            let texts = claims.map(\.tested?.text)
            found[0].isReversed = texts[0] != texts[1] && found[0].claim.tested?.text == texts[1]
        }
        if found.isEmpty {
            let words = Set(claims[0].tested.map { FailureMessage.words(of: $0.text) } ?? [])
            // Swift's sort is stable.
            let alike = (ofLine.isEmpty ? candidates : ofLine)
                .map { (candidate: $0, likeness: $0.likeness(to: words)) }
                .sorted { $0.likeness > $1.likeness }
            let made = alike.filter { words.count > 2 && $0.likeness * 5 >= words.count * 4 }
            let near = alike.filter { !ofLine.isEmpty || least == nil || $0.candidate.distance == least }
            found = (made.isEmpty ? near : made).prefix(3).map { candidate, _ in
                let parts =
                    candidate.isLast || !candidate.isOnLine
                    ? candidate.result.map { ResultPart.compared(by: claims[0], in: $0) } ?? [] : []
                return Question(
                    candidate, claims[0], parts.isEmpty ? [.all] : parts,
                    isOnlyOne: ofLine.count == 1 && candidate.isLast || made.count == 1)
            }
        }
        let isAlone = (ofLine.isEmpty ? nearest : ofLine).count == 1
        for index in found.indices {
            found[index].isAlone = isAlone
            // Code may have made the other value of the results of other queries.
            if found[index].isReversed, !isAlone { found[index].isFailing = false }
        }
        var seen = Set(found.map(\.record.order))
        supporting = supporting.filter { seen.insert($0.record.order).inserted }
        return found + supporting
    }

    /// Returns the newest of the queries that ran on the assertion's line whose result the assertion can have compared,
    /// with the parts of it; nil without one.
    private static func compared(
        by claim: Claim, among candidates: [Candidate]
    ) -> (Candidate, [ResultPart])? {
        for candidate in candidates {
            guard let result = candidate.result else { continue }
            // An assertion that fails has compared something else than what it expects. A call that goes on and writes has
            // another result than its query.
            let parts =
                claim.tested != nil
                ? ResultPart.tested(by: claim, in: result)
                : candidate.isLast
                    ? ResultPart.compared(by: claim, in: result).filter {
                        candidates.count == 1 || !$0.meets(claim.condition, in: result)
                    } : []
            // A truth value comes from any of several queries, if it is only that there is a row.
            if !parts.isEmpty, parts != [.existence] || candidates.count == 1 {
                return (candidate, parts)
            }
        }
        return nil
    }

    /// Returns the queries that found the values of a query's parameters, the nearest ones first.
    private static func sources(of query: Candidate, among candidates: [Candidate]) -> [Question] {
        let values = query.values.filter { $0 != .null }
        let others = candidates.lazy.compactMap { other -> Question? in
            guard other.statement.order < query.statement.order, let result = other.result,
                result.rows.count <= 20,
                other.distance == query.distance
            else { return nil }
            for row in result.rows {
                let isSource = row.contains { cell in
                    cell.bindable.map { values.contains($0) && !other.values.contains($0) } ?? false
                }
                if isSource { return Question(sourceOf: other) }
            }
            return nil
        }
        return Array(others.prefix(2))
    }

    /// Returns the last query with one of the new values of changed rows, which the statement that wrote them has, in its
    /// result; nil without one.
    ///
    /// It ran before the statement that wrote them, in the same call.
    static func source(
        of rows: [Finding.Row], writtenBy write: StatementRecord, in store: Timeline,
        _ budget: StepBudget
    ) -> Question? {
        let rare = rows.flatMap(\.columns).compactMap(\.new?.bindable).filter { value in
            switch value {
            case .integer(let number): abs(number) >= 10
            case .real(let number): abs(number) >= 10 || number != number.rounded()
            case .text(let text): text.count > 1
            case .null, .blob: false
            }
        }
        let values = write.own(of: rare)
        let earlier = store.testStatements.filter { $0.order < write.order }.suffix(candidateLimit)
            .reversed().prefix { $0.record.isInCall(of: write) }
        for statement in earlier {
            guard statement.outline.isSelect, statement.record.error == nil,
                statement.record.cut != true, let query = candidate(statement, in: store, budget)
            else { continue }
            // The history has the state after a transaction, which may have gone on with what the query had read.
            let hasChanged = store.statements(ofTransactionWith: statement).contains {
                $0.order > statement.order && $0.hasChangedRows
                    && $0.outline.table.map { query.reads[$0] != nil } ?? true
            }
            if hasChanged { continue }
            let isSource = (query.result?.rows ?? []).joined().contains { cell in
                cell.bindable.map { values.contains($0) && !query.values.contains($0) } ?? false
            }
            if isSource { return Question(sourceOf: query) }
        }
        return nil
    }

    private init(
        _ candidate: Candidate, _ claim: Claim, _ parts: [ResultPart], isSource: Bool = false,
        isOnlyOne: Bool = false
    ) {
        self.isSource = isSource
        store = candidate.store
        statement = candidate.statement
        path = candidate.path
        sql = candidate.sql
        values = candidate.values
        reads = candidate.reads
        settings = candidate.settings
        known = candidate.result
        self.parts = parts
        self.claim = claim
        wanted = claim.expected.map { expected in
            let difference = parts[0].difference(of: candidate.result ?? QueryResult(), from: expected)
            return difference.map { FailureMessage.Operand($0.missing) } ?? expected
        }
        let isRare =
            parts != [.existence] && !parts.allSatisfy(\.isEmbedded)
            && claim.tested.map { !$0.isCommon } ?? false
        let isOfLine = candidate.isOnLine && (claim.tested != nil || candidate.isLast)
        isFailing = isOnlyOne || parts != [.all] && (isOfLine || isRare)
    }

    /// Makes a question on which another one depends, so that no result of its own is expected.
    private init(sourceOf candidate: Candidate) {
        self.init(candidate, Claim(tested: nil, condition: .unknown), [.all], isSource: true)
    }

    /// Returns the test's last queries with their results, newest first.
    private static func candidates(of failure: FailureEvidence, _ budget: StepBudget) -> [Candidate] {
        struct Key: Hashable {
            let store: String
            let sql: String
            let values: [BoundValue]?
        }
        let place = failure.place
        // The compiler gives the closure of an assertion no line.
        var mayBeInAssertion = true
        var all: [(store: Timeline, statement: Timeline.Statement, order: UInt64)] = []
        for store in failure.stores {
            for statement in store.testStatements
            where statement.outline.isSelect && statement.record.error == nil
                && statement.record.cut != true
            {
                all.append((store, statement, statement.record.lastOrder ?? statement.order))
            }
        }
        all.sort { $0.order > $1.order }
        func isOnLine(_ record: StatementRecord) -> Bool {
            let frames = record.frames.filter(\.isInTests)
            return frames.contains { $0.file == place?.file && $0.line == place?.line }
                || frames.isEmpty && record.frames.contains { failure.message.calls($0.function) }
        }
        let lastWrite = failure.stores.flatMap(\.testStatements).filter {
            $0.writes && isOnLine($0.record)
        }.map(\.order).max()
        var seen: Set<Key> = []
        var found: [Candidate] = []
        for (store, statement, _) in all where found.count < candidateLimit && !budget.isUsedUp {
            let record = statement.record
            let key = Key(store: store.name, sql: record.sql, values: record.values)
            guard !record.isQuiet, seen.insert(key).inserted else { continue }
            let frames = record.frames.filter(\.isInTests)
            var distance = place.flatMap { place in
                frames.filter { $0.file == place.file }.map { abs(place.line - $0.line) }.min()
            }
            if distance != nil { mayBeInAssertion = false }
            if mayBeInAssertion, !record.frames.isEmpty { distance = 0 }
            guard var candidate = candidate(statement, in: store, budget) else { continue }
            candidate.distance = distance
            candidate.isOnLine = isOnLine(record)
            candidate.isLast = candidate.isOnLine && record.order > lastWrite ?? 0
            found.append(candidate)
        }
        return found
    }

    /// Asks a query of the test; nil if it reads no table of the store.
    private static func candidate(
        _ statement: Timeline.Statement, in store: Timeline, _ budget: StepBudget
    ) -> Candidate? {
        let record = statement.record
        let values = record.boundValues
        let path = store.path(at: statement)
        guard let connection = try? Connection.untrusted(path, limits: store.limits) else { return nil }
        budget.limit(connection)
        let sql = statement.localSQL
        let access = sql.flatMap { try? StatementAccess(of: $0, on: connection) }
        let named = SQLText(record.sql).sources.filter { !statement.outline.isElsewhere($0) }
            .map { ($0.table, Set<String>()) }
        let reads = access?.reads ?? Dictionary(named, uniquingKeysWith: { first, _ in first })
        let isOfTable = reads.keys.contains {
            store.schema.tables[$0] != nil && !LibraryTables.contains($0)
        }
        guard isOfTable else { return nil }
        let settings = settings(of: statement, in: store)
        var result: QueryResult?
        if let sql, let values, access?.functions.isDisjoint(with: unsteady) == true {
            let names = settings.keys.sorted()
            result = (try? QueryResult.of(sql, values, with: names, on: connection)) ?? nil
        }
        return Candidate(
            store: store, statement: statement, path: path, sql: sql ?? record.sql,
            values: values ?? [], reads: reads, settings: settings, result: result)
    }
}

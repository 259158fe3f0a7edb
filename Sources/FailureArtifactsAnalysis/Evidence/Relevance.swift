internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The relation between findings about a store and the failed assertion.
struct Relevance {
    /// A number of the message that a table explains: a number of rows or the sum of a column.
    struct Link: Equatable {
        let table: String
        /// The summed column; nil for a number of rows.
        let column: String?
        /// The number that the store has.
        let actual: Double
        /// The other number of the message.
        let expected: Double
        /// True if it is about all rows of the table; false for a group of them.
        var isTotal = true

        var delta: Double { expected - actual }
    }

    /// The last queries before the failure, the last one first.
    let queries: [StoreEvidence.Statement]
    /// The tables that the last queries before the failure read, in lower case.
    let readTables: Set<String>
    /// The words of these queries, in lower case; nil if they may have read all columns.
    private let queryWords: Set<String>?
    /// The tables whose rows these queries don't need, because they are read with `LEFT JOIN`, in lower case.
    let optionalTables: Set<String>
    /// True if the last query counts rows.
    private let isCounting: Bool
    let links: [Link]
    private let message: FailureMessage

    /// - Parameters:
    ///   - store: The store.
    ///   - message: The failure's message.
    ///   - deadline: The point in time after which sums are no longer searched for.
    init(_ store: StoreEvidence, _ message: FailureMessage, deadline: Instant) {
        self.message = message
        let names = Set(store.tables.map { folded($0.name) })
        let queries = Self.lastQueries(store, names)
        self.queries = queries
        readTables = queries.reduce(into: []) { $0.formUnion(names.intersection($1.parts.words)) }
        isCounting = queries.first?.parts.words.contains("count") ?? false
        optionalTables = queries.reduce(into: []) { $0.formUnion(Self.optionalTables(of: $1)) }
        queryWords =
            queries.contains(where: Self.mayReadAllColumns)
            ? nil : queries.reduce(into: []) { $0.formUnion($1.parts.words) }
        store.connection.setDeadline(deadline)
        // "3.0" is no number of rows.
        let isCount = message.values.allSatisfy { !$0.text.contains(".") }
        links = message.numbers.map { Self.links(store, $0.left, $0.right, isCount: isCount) } ?? []
        store.connection.setDeadline(nil)
    }

    /// Returns the queries after the last write, or the last query, the last one first.
    private static func lastQueries(
        _ store: StoreEvidence, _ names: Set<String>
    ) -> [StoreEvidence.Statement] {
        var queries: [StoreEvidence.Statement] = []
        for statement in store.testStatements.reversed() {
            if statement.isQuery(of: names) {
                queries.append(statement)
                if queries.count == 3 { break }
            } else if !queries.isEmpty {
                // A statement that begins with `WITH` may write, too.
                let hasWritten = statement.outline.mayWrite && statement.record.changes ?? 0 > 0
                if statement.writes || hasWritten { break }
            }
        }
        return queries
    }

    private static func optionalTables(of query: StoreEvidence.Statement) -> [String] {
        let words = query.parts.words.filter { $0 != "outer" }
        return zip(zip(words, words.dropFirst()), words.dropFirst(2)).compactMap { pair, name in
            pair == ("left", "join") ? name : nil
        }
    }

    /// True unless the query names the columns that it reads.
    private static func mayReadAllColumns(_ query: StoreEvidence.Statement) -> Bool {
        let text = folded(query.record.sql).filter { !$0.isWhitespace }
        return query.record.cut == true
            || text.split(separator: "count(*)", omittingEmptySubsequences: false).contains {
                $0.contains("*")
            }
    }

    // MARK: - Numbers

    private static func links(
        _ store: StoreEvidence, _ left: Double, _ right: Double, isCount: Bool
    ) -> [Link] {
        guard left != right else { return [] }
        var links: [Link] = []
        for table in store.tables {
            links += (try? Self.links(of: table, in: store, left, right, isCount: isCount)) ?? []
        }
        return links
    }

    private static func links(
        of table: TableShape, in store: StoreEvidence, _ left: Double, _ right: Double, isCount: Bool
    ) throws(SQLiteError) -> [Link] {
        let name = quotedIdentifier(table.name)
        let numeric = table.columns.filter { column in
            column.keyPosition == 0 && !column.isVirtual && !isReference(column.name)
                && [.integer, .real, .numeric].contains(Affinity(declaredType: column.type))
        }.prefix(12)
        let groups = table.columns.filter { $0.keyPosition != 1 || table.integerKey == nil }.prefix(12)
        let sums = numeric.map { ", sum(\(quotedIdentifier($0.name)))" }.joined()
        var links: Set<String> = []
        var result: [Link] = []
        func add(_ row: [StoredValue], isTotal: Bool) {
            for (index, value) in row.enumerated() {
                guard let number = value.number, index > 0 || isCount else { continue }
                for (a, b) in [(left, right), (right, left)] where matches(number, a) {
                    let column = index == 0 ? nil : numeric[numeric.startIndex + index - 1].name
                    let scale = abs(number) > abs(a) * 50 && a != 0 ? 100.0 : 1
                    if links.insert("\(column ?? "") \(a)").inserted {
                        result.append(
                            Link(
                                table: folded(table.name), column: column.map(folded),
                                actual: a * scale, expected: b * scale, isTotal: isTotal))
                    }
                }
            }
        }
        for row in try store.rows("SELECT count(*)\(sums) FROM \(name)") { add(row, isTotal: true) }
        for group in groups {
            let sql = "SELECT count(*)\(sums) FROM \(name) GROUP BY \(quotedIdentifier(group.name))"
            for row in try store.rows(sql, limit: 200) { add(row, isTotal: false) }
        }
        return result
    }

    /// True if the number is the message's number, or a hundred times that, as an amount in cents is.
    private static func matches(_ number: Double, _ other: Double) -> Bool {
        abs(number - other) < 1e-6 || (other != 0 && abs(number - other * 100) < 1e-6)
    }

    /// True if a column's name looks like a reference to another row.
    static func isReference(_ column: String) -> Bool {
        let name = folded(column)
        return name == "id" || name == "uuid" || column.hasSuffix("ID") || column.hasSuffix("Id")
            || name.hasSuffix("_id") || name.hasSuffix("_uuid") || column.hasSuffix("UUID")
            || column.hasSuffix("Uuid")
    }

    // MARK: - Scores

    /// Returns how closely a finding is related to the assertion, from 0 to about 200.
    func score(of finding: Finding) -> Int {
        var tables = Set(finding.rows.map { folded($0.table) })
        if let sql = finding.statement?.sql, let table = StatementOutline(sql).table {
            tables.insert(table)
        }
        var score = tables.isDisjoint(with: readTables) ? 0 : 30
        score += links.filter { tables.contains($0.table) }.map { self.score($0, finding) }.max() ?? 0
        score += valueScore(finding)
        return score
    }

    /// True if the message has the error that a violated foreign key raises, and the finding is about one.
    func namesError(of finding: Finding) -> Bool {
        finding.code == .foreignKeyViolation && message.text.contains("FOREIGN KEY")
    }

    /// True unless the finding is about the values of a column that the last queries didn't read.
    func readsColumn(of finding: Finding) -> Bool {
        guard finding.code.isOutlier, let queryWords
        else { return true }
        return finding.rows.contains { row in
            row.columns.contains { queryWords.contains(folded($0.column)) }
        }
    }

    /// Returns the folded names of the columns that the last queries may have read.
    func queried(_ columns: [String]) -> Set<String> {
        let names = Set(columns.map(folded))
        return queryWords.map(names.intersection) ?? names
    }

    private func score(_ link: Link, _ finding: Finding) -> Int {
        let rows = finding.rows.filter { folded($0.table) == link.table }
        guard let column = link.column else {
            // The number of outliers has nothing to do with the number of rows.
            let count = rows.count { $0.change != .updated }
            guard !finding.code.isOutlier, count > 0, Double(count) == abs(link.delta) else { return 8 }
            // Small numbers agree by chance, in one of several groups.
            return link.isTotal || link.actual > 8 ? 45 : 25
        }
        let cells = rows.compactMap { row in row.columns.first { folded($0.column) == column } }
        let changes = cells.map { ($0.new?.number ?? 0) - ($0.old?.number ?? 0) }
        if changes.contains(where: { Self.isSame($0, link.delta) })
            || Self.isSame(changes.reduce(0, +), link.delta)
        {
            // Small differences agree by chance.
            return abs(link.delta) < 4 ? 25 : 55
        }
        if let sql = finding.statement?.sql, StatementOutline.Parts(sql).assigned.contains(column) {
            return 15
        }
        return 8
    }

    private static func isSame(_ change: Double, _ delta: Double) -> Bool {
        change != 0 && abs(abs(change) - abs(delta)) < 1e-6
    }

    /// True if rows that the failing query missed, or shouldn't have seen, can explain the message.
    ///
    /// It is true, too, if the message has no values to compare, or if the rows' values are unknown.
    ///
    /// - Parameters:
    ///   - finding: The finding, with rows as far as they are known.
    ///   - counts: The numbers of inserted and deleted rows, by tables in lower case.
    /// - Returns: False if the message has values that the rows can't explain.
    func explains(_ finding: Finding, counts: [String: Int]) -> Bool {
        if message.values.isEmpty || finding.rows.isEmpty && !isCounting { return true }
        if let numbers = message.numbers {
            let delta = abs(numbers.left - numbers.right)
            if counts.contains(where: { readTables.contains($0.key) && Double($0.value) == delta }) {
                return true
            }
        }
        let cells = finding.rows.flatMap(\.columns)
        return links.contains { $0.column != nil && score($0, finding) >= 25 }
            || cells.contains { cell in
                let isNew = message.expected.contains { value in
                    !value.isCommon && cell.new.map(value.matches) ?? false
                }
                return isNew
                    || message.actual.contains { value in
                        !value.isCommon && cell.old.map(value.matches) ?? false
                    }
            }
    }

    /// Returns a score for values of the message in the finding's rows.
    private func valueScore(_ finding: Finding) -> Int {
        let values = message.differing
        // A value of the message is what that rule looks for.
        guard !values.isEmpty, finding.code != .messageValues else { return 0 }
        var best = 0
        for row in finding.rows {
            for cell in row.columns {
                let match = ValueMatch(
                    message, old: { value in cell.old.map(value.matches) ?? false },
                    new: { value in cell.new.map(value.matches) ?? false })
                guard let match else { continue }
                let isCommon = [match.lost, match.written].compactMap(\.self).allSatisfy(\.isCommon)
                best = max(best, match.isBoth ? (isCommon ? 40 : 60) : (isCommon ? 12 : 35))
            }
            for key in row.key where values.contains(where: { !$0.isCommon && $0.matches(key.value) }) {
                best = max(best, 20)
            }
        }
        return best
    }
}

package import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The results that the failing query had in the states of a store up to the failure.
package struct AssertedResult: Sendable {
    /// A result, from one transaction to the next one that changed it.
    package struct Period: Equatable, Sendable {
        /// The number of the first transaction in the history after which the query returned it: 0 for the first state,
        /// nil for the transaction that was open at the failure.
        package let transaction: Int?
        /// The values, as text.
        package let values: [String]
        /// True if it is the value that the assertion expected.
        package let isExpected: Bool

        /// The first values, or `no row`.
        package var text: String { Self.text(of: values) }

        static func text(of values: [String]) -> String {
            if values.isEmpty { return "no row" }
            let rest = values.count - 4
            return values.prefix(4).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
        }
    }

    /// The query.
    package let query: StatementRecord
    /// The values that the parameters had, such as `id = 3`; empty if there are no parameters.
    package let parameters: [String]
    /// The results, oldest first, up to the actual value of the assertion.
    package let periods: [Period]

    fileprivate init(query: StatementRecord, parameters: [String], periods: [Period]) {
        self.query = query
        self.parameters = parameters
        self.periods = periods
    }

    /// Returns the results that differ from the one before in the values that the assertion compares.
    fileprivate static func periods(
        _ results: [(transaction: Int?, result: AssertedQuery.Result)], of query: AssertedQuery
    ) -> [Period] {
        let shape = query.shape(of: results.map(\.result))
        var periods: [Period] = []
        for (transaction, result) in results {
            let period = Period(
                transaction: transaction, values: query.texts(of: result, shape),
                isExpected: query.isExpected(result, shape))
            if period.values != periods.last?.values { periods.append(period) }
        }
        return periods
    }

    /// The maximum number of results in ``sentence``.
    private static let maximumPeriods = 4

    /// The results as a sentence.
    ///
    /// For example: `With id = 3, it returned 5 before transaction 1, 8 after transaction 4.`
    package var sentence: String {
        let shown = periods.suffix(Self.maximumPeriods)
        let texts = shown.map { period in
            switch period.transaction {
            case nil: "\(period.text) in the open transaction"
            case 0: "\(period.text) before transaction 1"
            case let number?: "\(period.text) after transaction \(number)"
            }
        }
        let subject = parameters.isEmpty ? "It" : "With \(parameters.joined(separator: " and ")), it"
        return "\(subject) returned " + (periods.count > shown.count ? "…, " : "")
            + texts.joined(separator: ", ") + "."
    }

    /// The last result and the one before it, if that one is the expected value; otherwise nil.
    ///
    /// A counter has the expected value earlier by chance, so only the result before the last one counts.
    var lastChange: (expected: Period, actual: Period)? {
        guard let actual = periods.last, let expected = periods.dropLast().last, expected.isExpected
        else {
            return nil
        }
        return (expected, actual)
    }
}

extension AssertedResult: Encodable {
    private enum CodingKeys: String, CodingKey { case parameters, results }

    private struct Result: Encodable {
        let transaction: Int?
        let values: [String]
        let expected: Bool?
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if !parameters.isEmpty { try container.encode(parameters, forKey: .parameters) }
        let results = periods.map {
            Result(
                transaction: $0.transaction, values: $0.values, expected: $0.isExpected ? true : nil)
        }
        try container.encode(results, forKey: .results)
    }
}

extension ExtractedHistory {
    /// The maximum size of a store whose states are compared, in bytes.
    private static let sizeLimit = 64 << 20
    /// The maximum number of combinations of parameters.
    private static let maximumCandidates = 8

    /// Runs a query in all states.
    ///
    /// - Parameters:
    ///   - query: The query, which returns the actual value in the state at the failure.
    ///   - open: The path of the copy with the changes of the open transaction; nil if no transaction was open.
    ///   - tables: The tables of the store.
    ///   - limits: The limits on resources that a state can use.
    ///   - deadline: The point in time at which the search ends without a result.
    /// - Returns: The results; nil if it isn't known which values the parameters had.
    /// - Throws: An error if a state can't be rebuilt or read.
    borrowing func results(
        of query: AssertedQuery, open: String?, tables: [TableShape], limits: UntrustedLimits,
        deadline: Instant
    ) throws -> AssertedResult? {
        let candidates = query.parameters
        guard candidates.count <= Self.maximumCandidates,
            try File(reading: copy).size() <= Self.sizeLimit
        else { return nil }
        var all = candidates.map { _ in [(transaction: Int?, result: AssertedQuery.Result)]() }
        var isKnown = true
        var reads = StateReads(pageSize: reader.pageSize)
        func visit(_ number: Int?, _ path: String, changed pages: [UInt32]?) throws -> Bool {
            guard try reads.begin(in: path, changed: pages) else { return true }
            let connection = try Connection.untrusted(path, vfs: reads.vfs(), limits: limits)
            connection.setDeadline(deadline)
            for (index, candidate) in candidates.enumerated() {
                do {
                    let result = try AssertedQuery.run(query.record.sql, candidate, on: connection)
                    guard let result, Instant.now < deadline else {
                        isKnown = false
                        return false
                    }
                    if result != all[index].last?.result { all[index].append((number, result)) }
                } catch let error as SQLiteError where error.isMissingName {
                    // Before a migration, the table need not exist.
                }
            }
            return true
        }
        let isWhole = try forEachState { try visit($0, $1, changed: changedPages($0)) }
        if isWhole, let open { _ = try visit(nil, open, changed: nil) }
        guard isKnown else { return nil }
        let periods = all.map { AssertedResult.periods($0, of: query) }
        let chosen =
            query.isCertain
            ? Array(periods.indices)
            : periods.indices.filter { periods[$0].contains(where: \.isExpected) }
        guard chosen.count == 1, periods[chosen[0]].last?.isExpected == false else { return nil }
        return AssertedResult(
            query: query.record, parameters: query.texts(of: candidates[chosen[0]], tables),
            periods: periods[chosen[0]])
    }
}

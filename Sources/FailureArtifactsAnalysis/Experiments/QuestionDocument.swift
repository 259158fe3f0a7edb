package import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// The failing query, or one that may be it, and its results up to the failure.
package struct QuestionDocument: JSONDocument, Sendable {
    /// A result, from one transaction to the next one that changed it.
    package struct Period: Equatable, Encodable, Sendable {
        /// The number of the first transaction in the history after which the query returned it: 0 for the first state,
        /// absent for the transaction that was open at the failure.
        package let transaction: Int?
        package let result: String
        /// True if it is the value that the assertion expected; otherwise absent.
        package let isExpected: Bool?
    }

    package let store: String
    package let query: StatementRecord
    /// True if the query's result is the value that the assertion got; false if that isn't known.
    package let isFailing: Bool
    /// The value that the assertion expected, or a description of it; nil if it isn't known.
    package let expected: String?
    package let results: [Period]
    /// The value that the assertion got, if that may be the expected one, which is not part of the JSON form; nil if it is
    /// known which one is expected.
    let second: String?
    /// True if the assertion expects what code may make of no row or NULL.
    let expectsNothing: Bool
    /// True if the expected value may be the one that the assertion got.
    let isReversed: Bool
    /// True if the part of a result that the assertion compares is known.
    let isComparable: Bool
    /// The assertion of the test about the query, which is not part of the JSON form; nil if it can't be stated.
    let assertion: RowAssertion?

    /// The maximum number of results in ``sentence``.
    private static let maximumPeriods = 4

    init(_ question: Question, _ results: [Period], _ assertion: RowAssertion? = nil) {
        store = question.store.name
        query = question.record
        isFailing = question.isFailing
        expected = question.claim.shown
        second = question.isReversed && question.isAlone ? question.claim.tested?.shown : nil
        isReversed = question.isReversed
        expectsNothing = question.claim.expectsNothing
        isComparable = question.parts != [.all]
        self.results = results
        self.assertion = assertion
    }

    package var title: String { isFailing ? "failing query" : "query of this test" }

    /// The results as a sentence, such as `It returns 5 before transaction 1, 8 after transaction 4`.
    package var sentence: String? {
        guard !results.isEmpty else { return nil }
        let shown = results.suffix(Self.maximumPeriods)
        let texts = shown.map { period in
            switch period.transaction {
            case nil: "\(period.result) in the open transaction"
            case 0: "\(period.result) before transaction 1"
            case let number?: "\(period.result) after transaction \(number)"
            }
        }
        return "It returns " + (results.count > shown.count ? "…, " : "")
            + texts.joined(separator: ", ") + "."
    }

    package var json: JSONObject {
        [
            "store": store, "sql": query.sql, "values": query.values, "source": query.source,
            "isFailing": isFailing, "expected": expected, "results": results.nonEmpty,
        ]
    }
}

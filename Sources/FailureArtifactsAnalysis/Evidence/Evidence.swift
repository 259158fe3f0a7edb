extension Finding {
    /// The kinds of evidence, the strongest one first.
    package enum Evidence: String, CaseIterable, Comparable, Encodable, Sendable {
        /// A statement failed with the error that the test reports.
        case error
        case brokenRule = "broken-rule"
        /// Another query gives the expected result, which is a rare value.
        case variant
        /// Undoing a change gives the expected result.
        case fix
        /// A passing run did something else.
        case difference
        /// Rows that the query leaves out were changed, and with them it returns the expected result, a rare value.
        case expectedExclusion = "expected-exclusion"
        /// Before a change, the result was the expected one.
        case end
        /// The query gives the expected result, but the assertion got another one.
        case rightData = "right-data"
        /// Undoing a change brings the result closer to the expected one.
        case approach
        /// Rows that the question reads were changed with the schema.
        case migration
        /// Changes of what the question reads were lost by an error or a rollback.
        case loss
        /// An update of what the question reads changed no row.
        case noUpdate = "no-update"
        /// Undoing a change gives another result.
        case change
        /// Undoing a change gives another result of a query whose result the question depends on.
        case source
        /// A statement on what the question reads had no effect.
        case noEffect = "no-effect"
        /// Rows that the query leaves out were changed.
        case exclusion
        /// A change of another test, which has one of the effects above.
        case otherTest = "other-test"
        case query
        /// Undoing a change takes the result further away from the expected one.
        case recession
        /// Another query gives the expected result, which is a common value.
        case commonVariant = "common-variant"
        /// Undoing a change gives another result, but not in the value that the assertion compares.
        case otherValue = "other-value"
        /// A row was changed that the query names by a value.
        case named
        /// A table was changed that the query reads.
        case touched
        case other
        /// It is one of the last changes, and the question is unknown.
        case last

        private static let ranks = Dictionary(
            uniqueKeysWithValues: allCases.enumerated().map { ($1, $0) })

        package static func < (first: Evidence, second: Evidence) -> Bool {
            ranks[first, default: 0] < ranks[second, default: 0]
        }

        /// True if an experiment, an error or a rule shows an effect.
        var isOfEffect: Bool {
            switch self {
            case .query, .recession, .commonVariant, .otherValue, .named, .touched, .last:
                false
            default: true
            }
        }
    }
}

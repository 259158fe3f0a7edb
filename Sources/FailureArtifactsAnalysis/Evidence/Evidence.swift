extension Finding {
    /// The kinds of evidence, the strongest one first.
    ///
    /// The numbers are from 171 bugs whose authors didn't know the rules, without a passing run to compare with: how often
    /// the first finding of the kind was the culprit, and in how many bugs there was one.
    package enum Evidence: String, CaseIterable, Comparable, Encodable, Sendable {
        /// A statement failed with the error that the test reports. (10 of 10)
        case error
        /// The data breaks a constraint, a reference or an invariant. (13 of 13)
        case brokenRule = "broken-rule"
        /// Another query gives the expected result, which is a rare value. (15 of 15)
        case variant
        /// Undoing a change gives the expected result. (33 of 53)
        case fix
        /// A passing run did something else. (44 of 51, in 56 other bugs with a passing run)
        case difference
        /// Rows that the query leaves out were changed, and with them it returns the expected result, a rare value.
        /// (0 of 2)
        case expectedExclusion = "expected-exclusion"
        /// Before a change, the result was the expected one. (1 of 3)
        case end
        /// The query gives the expected result, but the assertion got another one. (not measured)
        case rightData = "right-data"
        /// Undoing a change brings the result closer to the expected one. (18 of 33)
        case approach
        /// Rows that the question reads were changed with the schema. (5 of 8)
        case migration
        /// Changes of what the question reads were lost by an error or a rollback. (9 of 10)
        case loss
        /// An update of what the question reads changed no row. (1 of 1)
        case noUpdate = "no-update"
        /// Undoing a change gives another result. (19 of 59)
        case change
        /// Undoing a change gives another result of a query whose result the question depends on. (6 of 33)
        case source
        /// A statement on what the question reads had no effect. (7 of 16)
        case noEffect = "no-effect"
        /// Rows that the query leaves out were changed. (10 of 38)
        case exclusion
        /// A change of another test, which has one of the effects above. (not measured)
        case otherTest = "other-test"
        /// The query itself. (37 of 165)
        case query
        /// Undoing a change takes the result further away from the expected one. (29 of 78)
        case recession
        /// Another query gives the expected result, which is a common value. (1 of 7)
        case commonVariant = "common-variant"
        /// Undoing a change gives another result, but not in the value that the assertion compares. (1 of 12)
        case otherValue = "other-value"
        /// A row was changed that the query names by a value. (28 of 75)
        case named
        /// A table was changed that the query reads. (24 of 123)
        case touched
        /// (2 of 8)
        case other
        /// It is one of the last changes, and the question is unknown. (2 of 6)
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

internal import FailureArtifactsBundle

extension RunComparison {
    /// A difference between the statements of two runs.
    struct Difference {
        enum Kind: Equatable {
            case text
            /// The indices of the parameters.
            case values([Int])
            case error
            case changes
            /// A query went through another number of rows.
            case scanned
            case missing
            case extra
            /// The numbers of executions.
            case count(passing: Int, failing: Int)
            case moved
        }

        var kind: Kind
        /// The index of the failing run's statement, or of the one before which a missing one belongs.
        var position: Int
        /// The index of the passing run's statement; nil if only the failing run has the statement, or for a count.
        var passingPosition: Int?
        /// The passing run's execution; nil if only the failing run has the statement.
        var passing: ComparedRun.Execution?
        /// The failing run's execution; nil if it is missing.
        var failing: ComparedRun.Execution?
        /// The number of equal differences, as in a loop.
        var times = 1
        /// The first execution of another text that changed rows, of several; nil if none of them did.
        var effective: ComparedRun.Execution?
        /// True if statements with other texts also had other effects.
        var hasOtherEffect = false
        /// True if both runs have the text, and the run that has the statement has the text more often.
        var isRepeated = false
        /// True if both runs have the text, but it isn't missing or extra in number.
        var isElsewhere = false
        /// True for the missing end of a transaction whose beginning is missing, too.
        var isWholeTransaction = false
        /// True if passing tests of the failing run have it, too.
        var isCommon = false
        /// True if all that both runs did before it is the same.
        var isFirst = false

        /// True if the same statement had another result.
        var isOfResult: Bool {
            switch kind {
            case .changes, .scanned: true
            // SQLITE_CONSTRAINT
            case .error:
                (failing?.record.error ?? passing?.record.error).map { $0.code & 0xFF == 19 } ?? false
            default: false
            }
        }
        /// True if the code differs: another text, or the definition of another schema.
        var isEdit: Bool {
            switch kind {
            case .text: true
            case .missing, .extra: definition != nil
            default: false
            }
        }
        var isOfQuery: Bool { (failing ?? passing)?.text.outline.isSelect ?? false }
        /// True if passing tests have other values, too, before all that only this test has, which may follow from them.
        func isOrigin(of start: Int?) -> Bool {
            if case .values = kind { isCommon && start.map { position < $0 } ?? false } else { false }
        }
        /// The folded name of the object that the statement defines; nil for others.
        var definition: String? {
            (failing ?? passing).flatMap {
                $0.text.outline.kind == .definition ? $0.text.outline.table : nil
            }
        }
        /// True if all of it is among the differences that passing tests have, too.
        func isAmong(_ common: Set<CommonDifference>) -> Bool {
            func has(_ text: ComparedText, _ parameter: Int? = nil, _ effect: Bool? = nil) -> Bool {
                common.contains(
                    CommonDifference(shape: text.shape, parameter: parameter, effect: effect))
            }
            return texts.contains { text in
                switch kind {
                case .values(let parameters): parameters.allSatisfy { has(text, $0) }
                case .changes, .scanned, .error: has(text, nil, true)
                case .text, .missing, .extra, .count, .moved: has(text)
                }
            }
        }

        /// The texts of both runs' statements.
        var texts: [ComparedText] { [failing, passing].compactMap { $0?.text } }
        /// The index in both runs up to which all is the same if no other difference has a smaller one.
        var start: Int { min(position, passingPosition ?? position) }
        var tables: Set<String> { failing?.text.tables ?? passing?.text.tables ?? [] }
    }
}

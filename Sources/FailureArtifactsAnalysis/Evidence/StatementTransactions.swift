internal import FailureArtifactsBundle

/// The transactions of statements, by the statements' numbers.
struct StatementTransactions {
    /// The index of the step that a statement was part of.
    private(set) var steps: [UInt64: Int] = [:]
    /// The number of the first statement of a statement's transaction, if it has one.
    private(set) var starts: [UInt64: UInt64] = [:]
    /// The statements whose transactions ended with a rollback.
    private(set) var rolledBack: Set<UInt64> = []

    init(_ statements: [StoreEvidence.Statement], _ steps: [StoreEvidence.Step]) {
        for (index, step) in steps.enumerated() {
            for statement in step.statements where self.steps[statement.order] == nil {
                self.steps[statement.order] = index
            }
        }
        var open: [UInt64: UInt64] = [:]
        for statement in statements {
            let connection = statement.record.connection
            starts[statement.order] = open[connection]
            switch statement.outline.kind {
            case .begin: open[connection] = statement.order
            case .savepoint: open[connection] = open[connection] ?? statement.order
            case .commit, .rollback: open[connection] = nil
            default: break
            }
        }
        var ends: [UInt64: StatementOutline.Kind] = [:]
        for statement in statements.reversed() {
            let connection = statement.record.connection
            if ends[connection] == .rollback, starts[statement.order] != nil {
                rolledBack.insert(statement.order)
            }
            if [.commit, .rollback].contains(statement.outline.kind) {
                ends[connection] = statement.outline.kind
            }
        }
    }
}

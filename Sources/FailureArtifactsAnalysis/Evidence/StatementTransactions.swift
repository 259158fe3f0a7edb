internal import FailureArtifactsBundle

/// The transactions of statements, by the statements' numbers.
struct StatementTransactions {
    /// The index of the step that a statement was part of.
    private(set) var steps: [UInt64: Int] = [:]
    /// The number of the first statement of a statement's transaction, if it has one.
    private(set) var starts: [UInt64: UInt64] = [:]
    /// The statements whose transactions ended with a rollback.
    private(set) var rolledBack: Set<UInt64> = []

    init(
        _ statements: [StoreEvidence.Statement], _ transactions: [ConnectionTransaction],
        _ steps: [StoreEvidence.Step]
    ) {
        for (index, step) in steps.enumerated() {
            for statement in step.statements where self.steps[statement.order] == nil {
                self.steps[statement.order] = index
            }
        }
        for transaction in transactions {
            let orders = transaction.statements.map { statements[$0].order }
            for order in orders.dropFirst() { starts[order] = orders[0] }
            if transaction.end == .rolledBack { rolledBack.formUnion(orders.dropFirst().dropLast()) }
        }
    }
}

internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

extension StoreEvidence {
    /// The maximum number of statements that are kept for a finding.
    private static let maximumCandidates = 5

    /// Adds the statements that can have changed the rows of a finding, if it names a transaction and no statement.
    ///
    /// They are those that ``Blame`` lists. If there is just one, it is the finding's statement.
    ///
    /// - Parameter finding: A finding about this store.
    func addCandidates(to finding: inout Finding) {
        guard finding.statement == nil, let number = finding.transaction,
            let step = steps.first(where: { $0.number == number }), !step.statements.isEmpty
        else { return }
        let records = step.statements.map(\.record)
        var found: [StatementRecord] = []
        for (name, rows) in Dictionary(grouping: finding.rows, by: { folded($0.table) }).sorted(by: {
            $0.key < $1.key
        }) {
            guard let table = step.table(name) else { continue }
            let changed = rows.compactMap { row in
                table.rows.first { $0.key == row.key.map(\.value) }.map { change in
                    // The finding may be about one of the changed columns.
                    let named = Set(row.columns.map { folded($0.column) })
                    let isNamed = change.cells.contains { named.contains(folded($0.column)) }
                    return Self.row(change, in: table, columns: isNamed ? named : nil)
                }
            }
            guard !changed.isEmpty else { continue }
            found += Blame.statements(
                records, changing: name, Set(changed.map(\.change)),
                of: Blame.updatedColumns(of: changed), among: linked)
        }
        var seen: Set<UInt64> = []
        found = found.filter { seen.insert($0.order).inserted }.sorted { $0.order < $1.order }
        if found.count == 1 {
            finding.statement = found[0]
        } else if found.count <= Self.maximumCandidates {
            finding.statements = found
        }
    }

    /// The tables whose statements can change rows of other tables; nil if triggers were added or dropped.
    private var linked: LinkedTables? {
        let isSteady = steps.allSatisfy { $0.changes.schema.allSatisfy { $0.type != "trigger" } }
        guard isSteady else { return nil }
        var linked = LinkedTables()
        linked.add(schema)
        return linked
    }
}

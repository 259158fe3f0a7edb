internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The rows whose references lead nowhere since one transaction.
struct DanglingReference {
    let reference: Reference
    /// The step that broke the reference; nil if it was broken before the first known transaction.
    let step: Int?
    /// The rows with the reference.
    private(set) var rows: [Finding.Row] = []
    /// The removed rows that they refer to.
    private(set) var parents: [Finding.Row] = []
    /// True if the step removed the parent rather than added the reference.
    let isParentRemoved: Bool

    /// The maximum number of rows to look at.
    private static let limit = 200

    /// Finds the rows of a reference that lead nowhere, by the transaction that broke them.
    static func all(of reference: Reference, in store: StoreEvidence) throws -> [DanglingReference] {
        let key = store.keyColumns(of: reference.table)
        let selected = (key + reference.columns).map { "c." + quotedIdentifier($0) }
        let query = reference.danglingRows.replacing(
            "c.*", with: selected.joined(separator: ", "), maxReplacements: 1)
        var found: [DanglingReference] = []
        for values in try store.rows(query, limit: limit) {
            let rowKey = Array(values.prefix(key.count))
            let target = Array(values.dropFirst(key.count))
            var row = Finding.Row(
                table: reference.table, key: Finding.Row.key(key, rowKey),
                change: .present,
                columns: zip(reference.columns, target).map { .init(column: $0, old: nil, new: $1) })
            let child = store.lastStep(
                where: { _, change in
                    change.key == rowKey && change.kind != .deleted
                        && zip(reference.columns, target).contains { change.cell($0)?.new == $1 }
                }, of: reference.table)
            let parent = store.lastStep(
                where: { _, change in
                    change.kind != .inserted
                        && zip(reference.parentColumns, target).allSatisfy { change.cell($0)?.old == $1 }
                }, of: reference.parent)
            let isParent = parent.map { $0.index >= child?.index ?? -1 } ?? false
            if !isParent, let child {
                row.change = .init(child.row.kind)
                row.columns = child.row.cells.filter { cell in
                    reference.columns.contains { folded($0) == folded(cell.column) }
                }
            }
            let step = isParent ? parent?.index : child?.index
            let index =
                found.firstIndex { $0.step == step && $0.isParentRemoved == isParent } ?? found.count
            if index == found.count {
                found.append(
                    DanglingReference(reference: reference, step: step, isParentRemoved: isParent))
            }
            found[index].rows.append(row)
            if isParent, let parent, let table = store.steps[parent.index].table(reference.parent) {
                let removed = StoreEvidence.row(parent.row, in: table, columns: [])
                if !found[index].parents.contains(removed) { found[index].parents.append(removed) }
            }
        }
        return found
    }

    /// Returns the statement and the transaction that broke the reference.
    func origin(in store: StoreEvidence) -> StoreEvidence.Origin {
        guard isParentRemoved else {
            return store.origin(inStep: step, of: reference.table, by: [.insert, .update])
        }
        let deletion = store.origin(inStep: step, of: reference.parent, by: [.delete])
        return deletion.statement != nil
            ? deletion : store.origin(inStep: step, of: reference.parent, by: [.update, .insert])
    }

    var title: String {
        let count = Int64(rows.count)
        let verb = count == 1 ? "refers" : "refer"
        let rows = "\(Counted.items(count, "row")) of \(reference.table) \(verb) to "
        let isVowel = reference.parent.first.map { "aeiou".contains($0.lowercased()) } ?? false
        return reference.parent.lowercased().hasSuffix("s")
            ? rows + "rows of \(reference.parent) that do not exist"
            : rows + (isVowel ? "an " : "a ") + reference.parent + " that does not exist"
    }

    /// A sentence about the event that broke the reference.
    func explanation(_ origin: StoreEvidence.Origin, in store: StoreEvidence) -> String {
        let columns = reference.columns.joined(separator: ", ")
        guard step != nil else {
            return "\(reference.table).\(columns) has no matching row in \(reference.parent)."
        }
        let when = store.title(ofTransaction: origin.transaction)
        if isParentRemoved {
            return "\(when) removed \(parents.first?.title ?? "the row of \(reference.parent)"), "
                + "which \(reference.table).\(columns) still names."
        }
        return "\(when) wrote \(reference.table).\(columns) = "
            + (rows.first?.columns.compactMap { $0.new.map { StoredText.text(of: $0, width: 40) } }
                .joined(separator: ", ") ?? "")
            + ", and \(reference.parent) has no such row."
    }
}

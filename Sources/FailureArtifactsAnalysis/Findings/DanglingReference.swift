internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The rows whose references lead nowhere because of one statement, or since one transaction.
struct DanglingReference {
    let reference: Reference
    /// The last step that broke the reference; nil if it was broken before the first known transaction.
    let step: Int?
    /// The number of earlier steps in which the same statement broke it, too.
    private(set) var earlierSteps = 0
    /// The rows with the reference.
    private(set) var rows: [Finding.Row] = []
    /// The removed rows that they refer to.
    private(set) var parents: [Finding.Row] = []
    /// True if the step removed the parent rather than added the reference.
    let isParentRemoved: Bool
    /// True if the reference has a value that stands for none, such as 0.
    let isNone: Bool

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
            let isNone = !isParent && target.contains(where: isPlaceholder)
            let index =
                found.firstIndex {
                    $0.step == step && $0.isParentRemoved == isParent && $0.isNone == isNone
                } ?? found.count
            if index == found.count {
                found.append(
                    DanglingReference(
                        reference: reference, step: step, isParentRemoved: isParent, isNone: isNone))
            }
            found[index].rows.append(row)
            if isParent, let parent, let table = store.steps[parent.index].table(reference.parent) {
                let removed = StoreEvidence.row(parent.row, in: table, columns: [])
                if !found[index].parents.contains(removed) { found[index].parents.append(removed) }
            }
        }
        return joined(found, in: store)
    }

    /// Returns the references with those of one statement joined, which may have run in several transactions.
    private static func joined(
        _ found: [DanglingReference], in store: StoreEvidence
    ) -> [DanglingReference] {
        var result: [(dangling: DanglingReference, cause: StatementRecord?)] = []
        for dangling in found.sorted(by: { $0.step ?? -1 > $1.step ?? -1 }) {
            let cause = dangling.step == nil ? nil : dangling.origin(in: store).statement?.record
            let same = result.firstIndex { other, statement in
                guard let statement, let cause else { return false }
                return (other.isParentRemoved, other.isNone) == (
                    dangling.isParentRemoved, dangling.isNone
                )
                    && (statement.sql, statement.source, statement.phase)
                        == (cause.sql, cause.source, cause.phase)
            }
            if let same {
                result[same].dangling.rows += dangling.rows
                result[same].dangling.parents += dangling.parents
                result[same].dangling.earlierSteps += 1
            } else {
                result.append((dangling, cause))
            }
        }
        return result.map(\.dangling)
    }

    /// True for a value that may stand for none instead of NULL.
    private static func isPlaceholder(_ value: StoredValue) -> Bool {
        switch value.content {
        case .integer(let number): number == 0 || number == -1
        case .text(let bytes): bytes.isEmpty
        default: false
        }
    }

    /// True if a row has a text of the removed row in a column of the same name.
    ///
    /// Such a row, as of a receipt, is there to outlive the other one.
    func isCopy(in store: StoreEvidence) throws -> Bool {
        guard isParentRemoved, let step, let shape = store.schema.tables[folded(reference.table)],
            let removed = store.steps[step].table(reference.parent)
        else { return false }
        let names = shape.columns.map(\.name).filter { !Reference.isName($0) }
        let key = store.keyColumns(of: reference.table)
        for row in rows.prefix(5) {
            let values = row.key.compactMap(\.value.bindable)
            guard values.count == key.count, !names.isEmpty else { continue }
            let found = try store.rows(
                "SELECT \((reference.columns + names).map(quotedIdentifier).joined(separator: ", ")) "
                    + "FROM \(quotedIdentifier(reference.table)) WHERE "
                    + key.map { "\(quotedIdentifier($0)) IS ?" }.joined(separator: " AND "), values,
                limit: 1)
            guard let found = found.first else { continue }
            let parent = removed.rows.first { change in
                zip(reference.parentColumns, found).allSatisfy { change.cell($0)?.old == $1 }
            }
            let isSame = zip(names, found.dropFirst(reference.columns.count)).contains { name, value in
                value.string?.count ?? 0 > 1 && parent?.cell(name)?.old == value
            }
            if isSame { return true }
        }
        return false
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
        return reference.parent.lowercased().hasSuffix("s")
            ? rows + (count == 1 ? "a row" : "rows") + " of \(reference.parent) that "
                + (count == 1 ? "does not exist" : "do not exist")
            : rows + Article.indefinite(reference.parent) + " that does not exist"
    }

    /// A sentence about the event that broke the reference.
    func explanation(_ origin: StoreEvidence.Origin, in store: StoreEvidence) -> String {
        let columns = reference.columns.joined(separator: ", ")
        guard step != nil else {
            return "\(reference.table).\(columns) has no matching row in \(reference.parent)."
        }
        let when = store.title(ofTransaction: origin.transaction)
        let others =
            earlierSteps == 0
            ? ""
            : " The statement did so in \(Counted.items(Int64(earlierSteps), "earlier transaction")), too."
        if isParentRemoved {
            return "\(when) removed \(parents.first?.title ?? "the row of \(reference.parent)"), "
                + "which \(reference.table).\(columns) still names." + others
        }
        return "\(when) wrote \(reference.table).\(columns) = "
            + (rows.first?.columns.compactMap { $0.new.map { StoredText.text(of: $0, width: 40) } }
                .joined(separator: ", ") ?? "")
            + ", and \(reference.parent) has no such row." + others
    }
}

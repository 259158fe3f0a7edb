internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The transaction after which the failing query no longer returned the expected value.
enum ResultChanged: FindingRule {
    static let code = Finding.Code.resultChanged
    private static let maximumRows = 5

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        guard let result = store.assertedResult(for: failure.message),
            let (expected, actual) = result.lastChange,
            let index = store.steps.firstIndex(where: { $0.number == actual.transaction }),
            !store.steps[index].isEarlier
        else { return [] }
        let step = store.steps[index]
        let read = Set(StatementOutline.Parts(result.query.sql).words)
        let tables = step.tables.filter { read.contains(folded($0.table.name)) }
        let rows = tables.flatMap { table in
            table.rows.prefix(maximumRows).map { StoreEvidence.row($0, in: table) }
        }
        let kinds: Set<StatementOutline.Kind> =
            rows.allSatisfy { $0.change == .deleted } ? [.delete] : [.insert, .update]
        let origin = tables.first.map {
            store.origin(inStep: index, of: $0.table.name, by: kinds)
        }
        let place = result.query.source.map { ", at \(SafeText.line($0.file)):\($0.line)," } ?? ""
        let parameters =
            result.parameters.isEmpty ? "" : ", with \(result.parameters.joined(separator: " and "))"
        return [
            Finding(
                code: code,
                title: "\(store.title(of: step)) \(change(from: expected.values, to: actual.values))",
                confidence: .possible, store: store.name, rows: Array(rows.prefix(maximumRows)),
                transaction: step.number, statement: origin?.statement?.record,
                explanation:
                    "The failing query\(place) returned the expected value until then\(parameters).",
                // Before a test inserts rows, queries return nothing.
                relevance: isNothing(expected.values) ? 12 : 40)
        ]
    }

    /// Returns a predicate such as `changed the failing query's result from 48 to 39`.
    private static func change(from old: [String], to new: [String]) -> String {
        let result = "the failing query's result"
        let (lost, added) = (without(new, old), without(old, new))
        guard old.count > 1 || new.count > 1, lost.count + added.count < old.count + new.count else {
            let texts = [old, new].map(AssertedResult.Period.text)
            return "changed \(result) from \(texts[0]) to \(texts[1])"
        }
        let texts = [lost, added].map(AssertedResult.Period.text)
        if added.isEmpty { return "removed \(texts[0]) from \(result)" }
        if lost.isEmpty { return "added \(texts[1]) to \(result)" }
        return "replaced \(texts[0]) with \(texts[1]) in \(result)"
    }

    /// Returns the elements of a list without those of another one.
    private static func without(_ others: [String], _ values: [String]) -> [String] {
        var others = others
        return values.filter { value in
            guard let place = others.firstIndex(of: value) else { return true }
            others.remove(at: place)
            return false
        }
    }

    private static func isNothing(_ values: [String]) -> Bool {
        values.allSatisfy { ["0", "NULL"].contains($0) }
    }
}

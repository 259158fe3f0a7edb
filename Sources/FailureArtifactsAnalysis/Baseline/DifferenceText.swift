internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The title of a difference, and the statement then and now.
struct DifferenceText {
    let title: String
    let comparison: Finding.Comparison
    let explanation: String

    /// - `neighbors`: the statements before it in the passing run and in the failing one.
    init(
        _ difference: RunComparison.Difference, _ baseline: Baseline,
        after neighbors: (then: ComparedRun.Execution?, now: ComparedRun.Execution?)
    ) {
        let (x, y) = (difference.passing, difference.failing)
        let name = (y ?? x).map { Self.name(of: $0.text) } ?? ""
        let passed = "when this test passed"
        func compared(
            _ text: (ComparedRun.Execution?) -> String
        ) -> (then: MarkedText, now: MarkedText) {
            (MarkedText(text(x), isMarked: true), MarkedText(text(y), isMarked: true))
        }
        var (then, now) = (x.map(Self.text) ?? Self.nothing, y.map(Self.text) ?? Self.nothing)
        var isOfStatement = false
        switch difference.kind {
        case .text:
            let isSetting = y?.text.outline.pragma != nil
            let other = x.map { Self.name(of: $0.text) } ?? ""
            title =
                isSetting || y?.text.isControl != true
                ? "\(name) has another \(isSetting ? "value" : "text") than \(passed)"
                : "\(name) ran, where \(other) did \(passed)"
            (then, now) = MarkedText.pair(x?.text.text ?? "", y?.text.text ?? "")
        case .values(let indices):
            let values = Self.values(x, y)
            title =
                indices.count == 1
                ? "\(name) has the value \(values.now(indices[0])), not \(values.then(indices[0])) as \(passed)"
                : "\(name) has other values than \(passed)"
            (then, now) = (
                Self.text(x, marked: Set(indices), values.then),
                Self.text(y, marked: Set(indices), values.now)
            )
            isOfStatement = true
        case .error:
            title =
                y?.record.error == nil
                ? "\(name) failed \(passed), and doesn't now" : "\(name) fails, and didn't \(passed)"
            (then, now) = compared(Self.result)
        case .changes:
            let (own, other) = (y?.ownChanges ?? 0, x?.ownChanges ?? 0)
            title =
                own == other
                ? "\(name) changed \(Self.indirect(y)) by triggers and foreign keys, and \(Self.indirect(x, isShort: true)) \(passed)"
                : "\(name) changed \(Counted.items(Int64(own), "row")), and \(other) \(passed)"
            (then, now) = compared(Self.changes)
        case .scanned:
            title = "\(name) went through another number of rows than \(passed)"
            (then, now) = compared(Self.rows)
        case .missing:
            title =
                difference.isWholeTransaction
                ? "A transaction is missing, which ended with \(name) \(passed)"
                : difference.isRepeated
                    ? "\(name) ran less often than \(passed)"
                    : "\(name) is missing\(difference.isElsewhere ? " here" : ""), which ran \(passed)"
            isOfStatement = true
        case .extra:
            title =
                difference.isRepeated
                ? "\(name) ran more often than \(passed)"
                : "\(name) ran\(difference.isElsewhere ? " here" : ""), and didn't \(passed)"
            isOfStatement = true
        case .moved:
            let distance = difference.position - (difference.passingPosition ?? difference.position)
            let place = distance == 0 ? "at another place" : distance > 0 ? "later" : "earlier"
            title = "\(name) ran \(place) than \(passed)"
            (then, now) = (Self.place(after: neighbors.then), Self.place(after: neighbors.now))
        case .count(let passing, let failing):
            title =
                "\(name) ran \(Counted.items(Int64(clamping: failing), "time")), and \(passing) \(passed)"
            (then, now) = (
                MarkedText("\(passing)", isMarked: true), MarkedText("\(failing)", isMarked: true)
            )
        }
        comparison = Finding.Comparison(then: then, now: now, isOfStatement: isOfStatement)
        let more = difference.times - 1
        let place = y == nil ? x?.record.source.map { "It ran at \(SafeText.line($0.place)). " } : nil
        explanation =
            (place ?? "") + "The passing run is of \(baseline.title)."
            + (more > 0
                ? " \(Counted.items(Int64(more), "more statement")) differ\(more == 1 ? "s" : "") like this."
                : "")
    }

    private static let nothing = MarkedText("nothing here", isMarked: true)

    /// Returns the verb and the table as the statement writes it, such as `INSERT INTO planet`.
    private static func name(of text: ComparedText) -> String {
        let statement = text.outline
        let verb = statement.word(0).uppercased()
        let table = statement.table.map { spelling(of: $0, in: text) } ?? ""
        let name =
            switch statement.kind {
            case .insert: "\(verb) INTO \(table)"
            case .update: "UPDATE \(table)"
            case .delete: "DELETE FROM \(table)"
            case .definition: "\(verb) \(statement.word(1).uppercased()) \(table)"
            case .begin, .commit, .rollback: verb
            case .rollbackTo: "ROLLBACK TO \(table)"
            default:
                statement.isSelect
                    ? "SELECT FROM "
                        + (SQLText(text.text).outerTable.map { spelling(of: $0, in: text) } ?? "nothing")
                    : "\(verb) \(spelling(of: statement.word(1), in: text))"
            }
        return SafeText.line(
            TextWidth.shortened(name.split(separator: " ").joined(separator: " "), to: 80))
    }

    /// Returns a name as the statement writes it, without quotes.
    private static func spelling(of name: String, in text: ComparedText) -> String {
        let sql = SQLText(text.text)
        guard let index = sql.tokens.firstIndex(where: { $0.kind == .name && $0.text == name }) else {
            return name
        }
        let spelling = sql.text(index)
        return sql.tokens[index].isQuoted ? String(spelling.dropFirst().dropLast()) : spelling
    }

    /// Returns a statement with its values.
    private static func text(_ execution: ComparedRun.Execution) -> MarkedText {
        text(execution, marked: []) { index in
            execution.record.values?[safe: index].map { StoredText.text(of: StoredValue($0), width: 40) }
                ?? "?"
        }
    }

    /// Returns a statement with texts in place of its parameters, of which some are marked.
    private static func text(
        _ execution: ComparedRun.Execution?, marked: Set<Int>, _ value: (Int) -> String
    ) -> MarkedText {
        guard let execution else { return nothing }
        var record = execution.record
        record.sql = execution.text.text
        let parts = record.parts { index, known in known.map { _ in value(index) } }
        return MarkedText(
            parts.map {
                MarkedText.Part(
                    text: $0.text, isMarked: $0.parameter.map(marked.contains) ?? false)
            })
    }

    /// Returns functions that return the texts of values, which show what differs.
    private static func values(
        _ x: ComparedRun.Execution?, _ y: ComparedRun.Execution?
    ) -> (then: (Int) -> String, now: (Int) -> String) {
        func texts(_ index: Int) -> (old: String, new: String) {
            guard let old = x?.record.values?[safe: index], let new = y?.record.values?[safe: index]
            else { return ("nothing", "nothing") }
            return StoredText.text(of: StoredValue(old), StoredValue(new), width: 40)
        }
        return ({ texts($0).old }, { texts($0).new })
    }

    private static func place(after statement: ComparedRun.Execution?) -> MarkedText {
        guard let statement else { return MarkedText("as the first statement", isMarked: true) }
        return MarkedText([.init(text: "after "), .init(text: text(statement).text, isMarked: true)])
    }

    private static func result(_ execution: ComparedRun.Execution?) -> String {
        execution?.record.error.map { "\(SafeText.line($0.message)) (\($0.code))" } ?? "no error"
    }

    private static func changes(_ execution: ComparedRun.Execution?) -> String {
        let (own, all) = (execution?.ownChanges ?? 0, execution?.record.changes ?? 0)
        return "\(Counted.items(Int64(own), "row"))"
            + (all > own
                ? ", and \(all.subtractingReportingOverflow(own).partialValue) by triggers and foreign keys"
                : "")
    }

    /// Returns the number of rows that triggers and foreign keys changed.
    private static func indirect(_ execution: ComparedRun.Execution?, isShort: Bool = false) -> String {
        let (own, all) = (execution?.ownChanges ?? 0, execution?.record.changes ?? 0)
        let count = Int64(all.subtractingReportingOverflow(own).partialValue)
        return isShort ? "\(count)" : Counted.items(count, "row")
    }

    private static func rows(_ execution: ComparedRun.Execution?) -> String {
        "\(Counted.items(Int64(execution?.record.fullScanSteps ?? 0), "step")) to a next row"
    }
}

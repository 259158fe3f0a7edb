internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The title of a difference, and the statement then and now.
struct DifferenceText {
    private static let maximumValues = 5
    /// The maximum number of tokens before and after a changed part.
    private static let context = 12

    let title: String
    let explanation: String

    init(_ difference: RunComparison.Difference, _ baseline: Baseline) {
        let (x, y) = (difference.passing, difference.failing)
        let name = (y ?? x).map { Self.name(of: $0.text.outline) } ?? ""
        let passed = "when this test passed"
        var then = x.map { Self.text(of: $0.record) } ?? "nothing here"
        var now = y.map { Self.text(of: $0.record) } ?? "nothing here"
        var values: [String] = []
        switch difference.kind {
        case .text:
            title = "\(name) has another text than \(passed)"
            (then, now) = Self.marked(x?.text.text ?? "", y?.text.text ?? "")
        case .values(let indices):
            let pairs = indices.map { index in
                let texts = [x, y].map { $0?.record.values?[safe: index].map(StoredValue.init) }
                return (index, Self.texts(texts[0] ?? nil, texts[1] ?? nil))
            }
            title =
                pairs.count == 1
                ? "\(name) has the value \(pairs[0].1.new), not \(pairs[0].1.old) as \(passed)"
                : "\(name) has other values than \(passed)"
            values = pairs.prefix(Self.maximumValues).map {
                "parameter \($0 + 1): «\($1.new)», in the passing run «\($1.old)»"
            }
        case .error:
            title =
                y?.record.error == nil
                ? "\(name) failed \(passed), and doesn't now" : "\(name) fails, and didn't \(passed)"
            (then, now) = (Self.result(x?.record), Self.result(y?.record))
        case .changes:
            let (own, other) = (y?.ownChanges ?? 0, x?.ownChanges ?? 0)
            title =
                own == other
                ? "\(name) changed other rows by triggers and foreign keys than \(passed)"
                : "\(name) changed \(Counted.items(Int64(own), "row")), and \(other) \(passed)"
            (then, now) = (Self.changes(x), Self.changes(y))
        case .scanned:
            title = "\(name) found another number of rows than \(passed)"
            (then, now) = (Self.rows(x), Self.rows(y))
        case .missing: title = "\(name) is missing, which ran \(passed)"
        case .extra: title = "\(name) ran, and didn't \(passed)"
        case .moved: title = "\(name) ran at another place than \(passed)"
        case .count(let passing, let failing):
            title =
                "\(name) ran \(Counted.items(Int64(clamping: failing), "time")), and \(passing) \(passed)"
            (then, now) = ("\(passing)", "\(failing)")
        }
        let more = difference.times - 1
        let place = x?.record.source.map { " at \(SafeText.line($0.place))" } ?? ""
        let lines =
            values.isEmpty
            ? ["now: \(now)", "then: \(then)" + (y == nil ? place : "")] : values
        explanation =
            (lines + [
                "The passing run is of \(baseline.title)."
                    + (more > 0
                        ? " \(Counted.items(Int64(more), "more statement")) differ\(more == 1 ? "s" : "") like this."
                        : "")
            ]).joined(separator: "\n")
    }

    /// Returns the verb and the table, such as `INSERT INTO planet`.
    private static func name(of statement: StatementOutline) -> String {
        let verb = statement.word(0).uppercased()
        let table = statement.table ?? ""
        let name =
            switch statement.kind {
            case .insert: "\(verb) INTO \(table)"
            case .update: "UPDATE \(table)"
            case .delete: "DELETE FROM \(table)"
            case .definition: "\(verb) \(statement.word(1).uppercased()) \(table)"
            default:
                statement.isSelect
                    ? "SELECT FROM "
                        + (SQLText(statement.words.joined(separator: " ")).tables.first ?? "nothing")
                    : "\(verb) \(statement.word(1))"
            }
        return SafeText.line(
            TextWidth.shortened(name.split(separator: " ").joined(separator: " "), to: 80))
    }

    private static func text(of record: StatementRecord) -> String {
        let words = record.sqlWithValues.split(whereSeparator: \.isWhitespace).prefix(200)
        return SafeText.line(TextWidth.abridged(words.joined(separator: " "), to: 200))
    }

    private static func texts(_ old: StoredValue?, _ new: StoredValue?) -> (old: String, new: String) {
        guard let old, let new else { return ("nothing", "nothing") }
        return StoredText.text(of: old, new, width: 40)
    }

    private static func result(_ record: StatementRecord?) -> String {
        record?.error.map { "\(SafeText.line($0.message)) (\($0.code))" } ?? "no error"
    }

    private static func changes(_ execution: ComparedRun.Execution?) -> String {
        let (own, all) = (execution?.ownChanges ?? 0, execution?.record.changes ?? 0)
        return "\(Counted.items(Int64(own), "row"))"
            + (all > own
                ? ", and \(all.subtractingReportingOverflow(own).partialValue) by triggers and foreign keys"
                : "")
    }

    private static func rows(_ execution: ComparedRun.Execution?) -> String {
        "\(Counted.items(Int64(execution?.record.fullScanSteps ?? 0), "step")) to a next row"
    }

    /// Returns two texts with marks around what differs, and with limited context.
    private static func marked(_ then: String, _ now: String) -> (then: String, now: String) {
        let (x, y) = (then.split(separator: " "), now.split(separator: " "))
        let start = zip(x, y).prefix { $0 == $1 }.count
        let end = zip(x.dropFirst(start).reversed(), y.dropFirst(start).reversed()).prefix { $0 == $1 }
            .count
        func text(_ words: [Substring]) -> String {
            let changed = start..<(words.count - end)
            let first = max(0, start - context)
            let last = min(words.count, changed.upperBound + context)
            let before = (first > 0 ? ["…"] : []) + words[first..<start]
            let after = words[changed.upperBound..<last] + (last < words.count ? ["…"] : [])
            let middle = TextWidth.abridged(words[changed].joined(separator: " "), to: 160)
            return SafeText.line((before + ["«\(middle)»"] + after).joined(separator: " "))
        }
        return (text(x), text(y))
    }
}

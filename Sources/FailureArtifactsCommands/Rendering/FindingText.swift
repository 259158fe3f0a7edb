internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

struct FindingText {
    private static let maximumRows = 5
    static let messageRows = 12

    private let isAll: Bool
    private let output: TextOutput
    private let statements: StatementText

    /// Creates the text.
    init(isAll: Bool = false, output: TextOutput) {
        self.isAll = isAll
        self.output = output
        statements = StatementText(output: output)
    }

    func lines(_ explanation: Explanation, of count: Int) -> [String] {
        var lines = [BundleText.title(explanation.test.title, explanation.outcome, for: output)]
        if let place = explanation.failure?.place {
            lines += TextWrap.message(SafeText.line(place), indent: 0, for: output)
        }
        if let failure = explanation.failure {
            lines += TextWrap.excerpt(
                of: FailureText.essence(of: failure.message), rows: isAll ? nil : Self.messageRows,
                indent: 0, for: output)
        }
        if let seen = explanation.seenBefore {
            lines += TextWrap.message(seen.line, indent: 0, for: output).map { output.styled($0, .dim) }
        }
        if explanation.findings.isEmpty {
            lines += ["", explanation.noFindings]
            if let hint = explanation.hint {
                lines += TextWrap.message(hint, indent: 0, for: output).map { output.styled($0, .dim) }
            }
        }
        if let verdict = explanation.verdict {
            lines += [""] + TextWrap.message(verdict, indent: 0, for: output)
        }
        for (index, finding) in explanation.findings.enumerated() {
            let isShort = index > 0 && finding.confidence == .possible && !isAll
            // The short ones are a list.
            if !isShort || index == 1 || explanation.findings[index - 1].confidence != .possible {
                lines.append("")
            }
            lines +=
                isShort
                ? title(finding, finding.line, number: index + 1)
                : self.lines(finding, number: index + 1)
        }
        if let question = explanation.question { lines += [""] + self.lines(question) }
        let rest = count - explanation.findings.count
        if rest > 0 {
            lines += [
                "",
                output.styled("\(Counted.items(Int64(rest), "further finding")) (all with --all)", .dim),
            ]
        }
        return lines
    }

    /// Returns the question's query with its results.
    private func lines(_ question: QuestionDocument) -> [String] {
        line(question.title, question.query, indent: 0)
            + (question.sentence.map { TextWrap.message($0, indent: 2, for: output) } ?? [])
    }

    private func line(_ label: String, _ record: StatementRecord, indent: Int = 2) -> [String] {
        var record = record
        record.source?.function = nil
        record.queryPlan = nil
        (record.duration, record.fullScanSteps, record.sorts) = (nil, nil, nil)
        return statements.lines(
            record, after: String(repeating: " ", count: indent) + "\(label): ", isWhole: true)
    }

    /// Returns the title of a finding, or another text, with its confidence and code, wrapped if it is too long for the
    /// terminal.
    func title(_ finding: Finding, _ text: String? = nil, number: Int) -> [String] {
        let style: TextOutput.Style = finding.confidence == .possible ? .bold : .red
        let store =
            finding.isOneOfSeveralStores ? finding.store.map { ", store \(SafeText.line($0))" } : nil
        let label = "\(finding.confidence.rawValue), \(finding.code.rawValue)\(store ?? "")"
        let title = "\(number). \(text ?? SafeText.line(finding.title))"
        let width = output.terminal?.width ?? .max
        var lines =
            TextWidth.columns(of: title) <= width
            ? [title] : TextWrap.lines(of: title, width: width, indent: 3, firstIndent: 0)
        let isBeside = TextWidth.columns(of: lines[lines.count - 1] + "  " + label) <= width
        lines = lines.map { output.styled($0, style) }
        let styled = output.styled(label, .dim)
        if !isBeside { return lines + ["   " + styled] }
        lines[lines.count - 1] += "  " + styled
        return lines
    }

    func lines(_ finding: Finding, number: Int) -> [String] {
        var lines = title(finding, number: number)
        for (label, text) in finding.comparison?.lines ?? [] {
            let line = label + ":" + (label == "now" ? "  " : " ") + text.text
            lines += TextWrap.message(line, indent: 3, for: output)
        }
        let sentences = [finding.explanation] + finding.sourceNotes
        lines += sentences.flatMap { TextWrap.message($0, indent: 3, for: output) }
        let rows = isAll ? finding.rows[...] : finding.rows.prefix(Self.maximumRows)
        lines += rows.flatMap { TextWrap.message($0.text, indent: 3, for: output) }
        if rows.count < finding.rows.count {
            lines.append("   and \(Counted.items(Int64(finding.rows.count - rows.count), "more row"))")
        }
        let transaction = finding.transaction.map { "transaction \($0)  " } ?? ""
        if let statement = finding.statement, finding.comparison?.isOfStatement == true {
            lines += statements.placeLines(of: statement, after: "   " + transaction)
        } else if let statement = finding.statement {
            lines += statements.lines(
                statement, after: "   " + transaction, isWhole: true, hasCaller: true)
        } else if finding.transaction != nil || !finding.statements.isEmpty {
            let count = finding.statements.count
            let parts = [
                finding.transaction.map { "transaction \($0)" },
                count > 0 ? "by one or more of these \(count) statements:" : nil,
            ]
            lines.append("   " + parts.compactMap(\.self).joined(separator: ", "))
            lines += finding.statements.flatMap {
                statements.lines($0, after: "     ", hasCaller: true)
            }
        }
        return lines
    }
}

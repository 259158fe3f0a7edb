internal import FailureArtifactsSQLite

/// The text about a failing test for people without the tool: `README.txt` in its bundle, and the attachment
/// `failure.md`.
///
/// It is Markdown. What a test wrote is in indented code, which no content can end.
package struct FailureNote: CustomStringConvertible {
    private static let statementLimit = 10

    package let description: String

    /// Makes the text, with the last of the statements that the test ran.
    package init(_ metadata: BundleMetadata, _ statements: [StatementRecord] = []) {
        let hasPassed = metadata.outcome == .passed
        var lines = [metadata.test.title]
        if let failure = metadata.failures.first {
            lines += failure.message.split(whereSeparator: \.isNewline).prefix(40).map(String.init)
            if let file = failure.file { lines.append("\(file):\(failure.line ?? 0)") }
        }
        var text = "# A test \(hasPassed ? "passed" : "failed")\n\n" + Self.code(lines)
        let last = statements.filter { $0.phase == .test }.sorted { $0.order < $1.order }
            .suffix(Self.statementLimit)
        if !last.isEmpty {
            text += "\nIts last statements:\n\n" + Self.code(last.flatMap(Self.lines))
        }
        let store = metadata.stores.compactMap(\.entry).first ?? "stores/<name>.sqlite"
        text += """

            To find out why, or to see everything that is known:

                failure-artifacts explain <this bundle>

            Without the tool, unzip the bundle, and open a store as it was \(hasPassed ? "at the test's end" : "when the test failed"):

                sqlite3 \(Self.line(store, 200))

            Each file in stores/ stands alone: nothing has to lie beside it. NAME.committed.sqlite, where there is one,
            lacks what the test's open transaction had not committed yet. What each file is: metadata.json.

            """
        description = text
    }

    private static func lines(of statement: StatementRecord) -> [String] {
        var facts = (statement.values ?? []).map { $0.text }
        facts = facts.isEmpty ? [] : ["values " + facts.joined(separator: ", ")]
        if let error = statement.error { facts.append("error: \(error.message)") }
        if let changes = statement.changes, changes > 0 {
            facts.append(changes == 1 ? "1 row" : "\(changes) rows")
        }
        let source = statement.source.map { "    \($0.function ?? "") \($0.file):\($0.line)" }
        return [statement.sql + (facts.isEmpty ? "" : "  (\(facts.joined(separator: ", ")))")]
            + [source].compactMap(\.self)
    }

    private static func code(_ lines: [String]) -> String {
        lines.map { "    " + line($0, 300) + "\n" }.joined()
    }

    /// Returns a text on one line, without characters that a terminal obeys or that change the direction of text.
    package static func line(_ text: String, _ limit: Int) -> String {
        let start = text.prefix(limit)
        let scalars = start.unicodeScalars.map { $0.isControl ? " " : $0 }
        return String(String.UnicodeScalarView(scalars)) + (start.endIndex < text.endIndex ? "…" : "")
    }
}

extension Unicode.Scalar {
    /// True for control characters, separators of lines, and characters that change the text direction.
    package var isControl: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension BoundValue {
    fileprivate var text: String {
        switch value {
        case .null: "NULL"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): "'\(text)'"
        case .blob(let blob): "a BLOB of \(bytes ?? blob.count) bytes"
        }
    }
}

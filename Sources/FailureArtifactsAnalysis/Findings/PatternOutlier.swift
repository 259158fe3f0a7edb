internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A few texts that differ in form from the others of their column, which have a structured form.
enum PatternOutlier: FindingRule {
    static let code = Finding.Code.patternOutlier

    /// The maximum number of rows to read of a table.
    private static let limit = 5000

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for table in store.tables {
            let all = table.columns.filter {
                !$0.isVirtual && (table.integerKey == nil || $0.keyPosition == 0)
            }
            for column in all.prefix(40) {
                let name = quotedIdentifier(column.name)
                let values = try store.rows(
                    "SELECT \(name), count(*) FROM \(quotedIdentifier(table.name)) WHERE typeof(\(name)) = 'text' "
                        + "GROUP BY 1", limit: limit)
                guard values.count >= 3, values.count < limit else { continue }
                let texts = values.compactMap { value -> (text: String, count: Double)? in
                    guard case .text(let bytes) = value[0].content, !value[0].isCut else { return nil }
                    return (String(decoding: bytes, as: UTF8.self), value[1].number ?? 1)
                }
                guard let odd = outliers(texts) else { continue }
                for (text, reason) in odd.prefix(3) {
                    let literal = "'" + text.replacing("'", with: "''") + "'"
                    guard !text.contains("\0") else { continue }
                    let finding = try Outliers.finding(
                        code, where: "\(name) = \(literal)", column: column, of: table, in: store,
                        title: {
                            "\(Counted.items($0, "row")) of \(table.name) \($0 == 1 ? "has" : "have") a \(column.name) "
                                + "that \(reason)"
                        },
                        explanation:
                            "\(StoredText.text(of: StoredValue(.text(Array(text.utf8))), width: 60)) is unlike "
                            + "the other \(values.count - 1) values of \(column.name), such as "
                            + "\(StoredText.text(of: StoredValue(.text(Array(odd.usual.utf8))), width: 60)).",
                        relevance: odd.strength, likelyFrom: 80)
                    if let finding { findings.append(finding) }
                }
            }
        }
        return findings
    }

    /// Texts that differ from the others, each with the reason as a clause.
    struct Odd {
        var texts: [(String, String)]
        var usual: String
        var strength: Int

        func prefix(_ count: Int) -> ArraySlice<(String, String)> { texts.prefix(count) }
    }

    static func outliers(_ values: [(text: String, count: Double)]) -> Odd? {
        let texts = values.map(\.text)
        func odd(_ strength: Int, _ reason: String, _ isOdd: (String) -> Bool) -> Odd? {
            let found = texts.filter(isOdd)
            guard !found.isEmpty, found.count * 3 <= texts.count, found.count <= Outliers.maximum,
                let usual = texts.first(where: { !isOdd($0) })
            else { return nil }
            return Odd(texts: found.map { ($0, reason) }, usual: usual, strength: strength)
        }
        if let result = odd(
            30, "starts or ends with white space",
            { text in
                text.first?.isWhitespace == true || text.last?.isWhitespace == true
            })
        {
            return result
        }
        if let result = odd(12, "is empty", { $0.isEmpty }) { return result }
        let shapes = Dictionary(grouping: texts, by: shape)
        guard
            let (usual, members) = shapes.max(by: { ($0.value.count, $1.key) < ($1.value.count, $0.key) }
            ),
            members.count >= 3, members.count * 3 >= texts.count * 2,
            usual.contains(where: { !$0.isLetter }) || members.count >= 4, isStructured(members)
        else { return nil }
        guard usual.contains(where: { !$0.isLetter }) else {
            // A few words among single words are probably a title or a name.
            guard !texts.contains(where: { $0.contains(where: \.isWhitespace) }) else { return nil }
            return odd(8, "has another form", { shape($0) != usual })
        }
        return odd(14, "has another form", { shape($0) != usual })
    }

    /// True if texts of the same shape have a structured form, such as codes, dates and telephone numbers.
    ///
    /// Free text has white space between words that differ in their lengths. Words of a structured form are the same
    /// in all texts, such as `Order` in `Order 12`, or they have the same length, such as the months in `21 Nov 2026`.
    static func isStructured(_ texts: [String]) -> Bool {
        guard let first = texts.first, first.contains(where: \.isWhitespace) else { return true }
        func words(_ text: String) -> [Substring] {
            text.split { !$0.isLetter }
        }
        let usual = words(first)
        let all = texts.map(words)
        // Without a digit, words of the same length are a coincidence of few texts.
        let hasDigits = first.contains(where: \.isNumber)
        return all.allSatisfy { $0.count == usual.count }
            && usual.indices.allSatisfy { index in
                all.allSatisfy { $0[index] == usual[index] }
                    || hasDigits && all.allSatisfy { $0[index].count == usual[index].count }
            }
    }

    /// Returns a text with runs of lower-case letters, upper-case letters and digits replaced by one character each.
    static func shape(_ text: String) -> String {
        // Each hexadecimal identifier has letters and digits in other places.
        if text.utf8.count >= 16, text.allSatisfy({ $0.isHexDigit || $0 == "-" }) { return "x" }
        var result = ""
        for character in text {
            let kind: Character =
                character.isNumber
                ? "9" : character.isUppercase ? "A" : character.isLetter ? "a" : character
            if result.last != kind { result.append(kind) }
        }
        return result
    }
}

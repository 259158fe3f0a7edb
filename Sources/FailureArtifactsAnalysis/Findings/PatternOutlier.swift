internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A few texts that differ in form from the others of their column, or that differ from another one only in case or
/// Unicode normalization.
enum PatternOutlier: FindingRule {
    static let code = Finding.Code.patternOutlier

    /// The maximum number of different texts to read of a column.
    private static let limit = 5000

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for table in store.tables {
            var found: [Finding] = []
            let columns = table.columns.filter {
                !$0.isVirtual && (table.integerKey == nil || $0.keyPosition == 0)
            }
            for column in columns.prefix(40) {
                guard let finding = try finding(column, of: table, in: store) else { continue }
                // A row whose values were swapped, for example, is odd in several columns.
                if let same = found.firstIndex(where: { $0.rows.map(\.key) == finding.rows.map(\.key) })
                {
                    found[same].add(finding)
                } else {
                    found.append(finding)
                }
            }
            findings += found
        }
        return findings
    }

    private static func finding(
        _ column: TableShape.Column, of table: TableShape, in store: StoreEvidence
    ) throws -> Finding? {
        let name = quotedIdentifier(column.name)
        let values = try store.rows(
            "SELECT \(name), count(*) FROM \(quotedIdentifier(table.name)) WHERE typeof(\(name)) = 'text' "
                + "GROUP BY 1", limit: limit)
        guard values.count >= 3, values.count < limit else { return nil }
        let texts = values.compactMap { value -> (text: String, count: Double)? in
            guard case .text(let bytes) = value[0].content, !value[0].isCut,
                let text = StoredText.valid(bytes, isCut: false)
            else { return nil }
            return (text, value[1].number ?? 1)
        }
        guard let odd = TextOutliers(texts), !odd.texts.contains(where: { $0.contains("\0") }) else {
            return nil
        }
        let literals = odd.texts.map { "'" + $0.replacing("'", with: "''") + "'" }
        return try Outliers.finding(
            code, where: "\(name) IN (\(literals.joined(separator: ", ")))", column: column, of: table,
            in: store,
            title: {
                "\(Counted.items($0, "row")) of \(table.name) \($0 == 1 ? "has" : "have") "
                    + "\(Article.indefinite(column.name)) that \(odd.kind.clause)"
            },
            explanation: odd.explanation(column.name, of: texts.count), relevance: odd.kind.strength,
            likelyFrom: 80)
    }
}

extension Finding {
    /// Adds a finding about other columns of the same rows.
    fileprivate mutating func add(_ other: Finding) {
        for index in rows.indices where rows[index].change == other.rows[index].change {
            rows[index].columns += other.rows[index].columns
        }
        explanation += " " + other.explanation
        if other.relevance > relevance { (title, relevance) = (other.title, other.relevance) }
    }
}

internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A few values of another type than the column's other values, such as a text among integers.
enum TypeMismatch: FindingRule {
    static let code = Finding.Code.typeMismatch

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for table in store.tables {
            for column in Outliers.columns(of: table) {
                let name = quotedIdentifier(column.name)
                // Integers and real numbers compare alike.
                let type =
                    "CASE WHEN typeof(\(name)) IN ('integer', 'real') THEN 'number' ELSE typeof(\(name)) END"
                let types = try store.rows(
                    "SELECT \(type), count(*) FROM \(quotedIdentifier(table.name)) WHERE typeof(\(name)) <> 'null' "
                        + "GROUP BY 1 ORDER BY 2 DESC", limit: 4)
                guard types.count > 1, let usual = types[0][0].string, let most = types[0][1].number,
                    most >= 2
                else { continue }
                for other in types.dropFirst() {
                    guard let kind = other[0].string, let few = other[1].number, few * 2 <= most else {
                        continue
                    }
                    let affinity = Affinity(declaredType: column.type)
                    let isDeclared = usual == "number" && [.integer, .real, .numeric].contains(affinity)
                    let finding = try Outliers.finding(
                        code,
                        where: "typeof(\(name)) "
                            + (kind == "number" ? "IN ('integer', 'real')" : "= '\(kind)'"),
                        column: column, of: table, in: store,
                        title: {
                            "\(Counted.items($0, "row")) of \(table.name) \($0 == 1 ? "has" : "have") a \(kind) in "
                                + "\(column.name), where the others have a \(usual)"
                        },
                        explanation:
                            "\(Int(few)) of \(Int(few + most)) values of \(column.name) "
                            + "\(few == 1 ? "is" : "are") of type \(kind)"
                            + (column.type.isEmpty
                                ? "." : "; the column is declared \(SafeText.line(column.type)).")
                            + " SQLite sorts and compares the types separately.",
                        relevance: isDeclared ? 45 : 30, likelyFrom: 60)
                    if let finding { findings.append(finding) }
                }
            }
        }
        return findings
    }
}

internal import FailureArtifactsSQLite

/// A parameter in the text of a statement (<https://www.sqlite.org/lang_expr.html#varparam>).
package struct StatementParameter: Equatable, Sendable {
    /// The place in the UTF-8 text.
    package let range: Range<Int>
    /// The number that SQLite gives it, from 1.
    package let number: Int

    /// Finds the parameters in a statement; none if one has a number that SQLite refuses.
    package static func all(in sql: String) -> [StatementParameter] {
        var result: [StatementParameter] = []
        var names: [String: Int] = [:]
        var last = 0
        var scanner = SQLScanner(sql)
        while let token = scanner.next() {
            guard token.kind == .parameter else { continue }
            let name = scanner.text(of: token)
            let number: Int?
            if name.hasPrefix("?") {
                number = name == "?" ? last + 1 : Int(name.dropFirst())
            } else if token.range.count > 1 {
                number = names[name] ?? last + 1
                names[name] = number
            } else {
                continue
            }
            // SQLite's limit, SQLITE_MAX_VARIABLE_NUMBER.
            guard let number, (1...32766).contains(number) else { return [] }
            last = max(last, number)
            result.append(StatementParameter(range: token.range, number: number))
        }
        return result
    }
}

internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// SQLite's plans for running statements, from `EXPLAIN QUERY PLAN`.
package enum QueryPlan {
    /// The maximum number of lines of a plan; a longer one ends with `…`.
    package static let maximumLines = 20
    /// The maximum number of bytes of a line; a longer one ends with `…`.
    package static let maximumLineBytes = 200

    /// Returns the plans of statements, without running them: lines that are indented by two spaces per level.
    ///
    /// Plans are found in the order of the statements, for at most `timeLimit` seconds. A statement has none if it
    /// isn't a single query or change of rows, or if SQLite can't compile it, for example because it calls a function
    /// of the application or uses an attached database. The copy of the store needs no journal.
    package static func plans(
        of statements: [String], onCopyAt path: String, timeLimit: Double
    ) -> [String: [String]] {
        let deadline = Instant.now.advanced(bySeconds: timeLimit)
        return ForkGuard.withForksDelayed {
            var plans: [String: [String]] = [:]
            guard let connection = try? Connection.untrusted(path) else { return plans }
            connection.allowOnlyQueries(until: deadline)
            for sql in statements where Instant.now < deadline {
                if let plan = try? plan(of: sql, in: connection), !plan.isEmpty { plans[sql] = plan }
            }
            return plans
        }
    }

    private static func plan(
        of sql: String, in connection: borrowing Connection
    ) throws(SQLiteError) -> [String] {
        let statement = try connection.prepare("EXPLAIN QUERY PLAN " + sql)
        var lines: [String] = []
        var depths: [Int64: Int] = [:]
        // The columns are the line's number, the number of the line above it, an unused one and the text.
        while try statement.step() {
            guard lines.count < maximumLines else { return lines.dropLast() + ["…"] }
            guard case .text(let text) = statement.value(at: 3) else { continue }
            let depth = depths[statement.integer(at: 1)].map { $0 + 1 } ?? 0
            depths[statement.integer(at: 0)] = depth
            lines.append(cut(String(repeating: "  ", count: depth) + text))
        }
        return lines
    }

    private static func cut(_ line: String) -> String {
        guard line.utf8.count > maximumLineBytes else { return line }
        var result = ""
        for scalar in line.unicodeScalars {
            guard result.utf8.count + scalar.utf8.count <= maximumLineBytes - "…".utf8.count else {
                break
            }
            result.unicodeScalars.append(scalar)
        }
        return result + "…"
    }
}

extension Connection {
    /// Makes compiling fail for statements other than queries and changes of rows, and for all of them after `deadline`.
    ///
    /// SQLite compiles nested views for minutes, and its progress handler can interrupt that only since version 3.41. It
    /// runs some pragmas while it compiles them, but asks the authorizer first.
    fileprivate borrowing func allowOnlyQueries(until deadline: Instant) {
        // The time is stored in the context pointer itself, so no object has to outlive the call.
        let context = UnsafeMutableRawPointer(bitPattern: UInt(max(deadline.nanoseconds, 1)))
        sqlite3_set_authorizer(
            handle,
            { context, action, _, _, _, _ in
                guard Instant.now < Instant(nanoseconds: UInt64(UInt(bitPattern: context))) else {
                    return SQLITE_DENY
                }
                return switch action {
                case SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION, SQLITE_RECURSIVE, SQLITE_INSERT,
                    SQLITE_UPDATE, SQLITE_DELETE:
                    SQLITE_OK
                default: SQLITE_DENY
                }
            }, context)
    }
}

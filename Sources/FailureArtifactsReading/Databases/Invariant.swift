package import FailureArtifactsSQLite
package import FailureArtifactsSystem

/// A query about a store that must return no rows.
package struct Invariant: Equatable, Sendable {
    /// The environment variable with the path of a directory of invariants.
    package static let variable = "FAILURE_ARTIFACTS_INVARIANTS"
    private static let maximumFileBytes = 1 << 20

    package let name: String
    /// The text of the file's leading comment, or the file's name without its extension.
    package let title: String
    package let sql: String

    package init(name: String, sql: String) {
        self.name = name
        self.sql = sql
        let comment = LeadingComments(of: sql).text
        title = comment.isEmpty ? Path.stem(of: name) : String(comment.prefix(200))
    }

    /// Reads the SQL files of a directory, in the order of their names.
    package static func all(inDirectory path: String) throws(SystemError) -> [Invariant] {
        var invariants: [Invariant] = []
        for name in try FileSystem.contents(ofDirectory: path).sorted() where name.hasSuffix(".sql") {
            let bytes = try FileSystem.contents(
                ofFile: Path.join(path, name), limit: maximumFileBytes)
            invariants.append(Invariant(name: name, sql: String(decoding: bytes, as: UTF8.self)))
        }
        return invariants
    }

    package enum Result: Equatable, Sendable {
        case holds
        /// The query returned this number of rows, which is at most the limit.
        case broken(rows: Int)
        /// The store has no such table or column.
        case notApplicable(String)
        /// The query failed, exceeded a limit or isn't a single SELECT; the reason is a clause.
        case failed(String)
    }

    /// Runs the query on an untrusted store, until the deadline and for at most `limit` rows.
    ///
    /// Without a deadline, the connection's own limits hold. `visit` receives the query at each row.
    package func check(
        _ connection: borrowing Connection, deadline: Instant? = nil, limit: Int,
        _ visit: (borrowing Statement) -> Void = { _ in }
    ) -> Result {
        guard ["select", "with", "values"].contains(LeadingComments(of: sql).firstWord) else {
            return .failed("it is not a SELECT")
        }
        if let deadline { connection.setDeadline(deadline) }
        defer { if deadline != nil { connection.setDeadline(nil) } }
        do throws(SQLiteError) {
            let statement = try connection.prepare(sql)
            guard statement.isReadOnly, statement.columnCount > 0 else {
                return .failed("it is not a SELECT")
            }
            var rows = 0
            while rows < limit, try statement.step() {
                rows += 1
                visit(statement)
            }
            return rows == 0 ? .holds : .broken(rows: rows)
        } catch {
            if error.isInterrupted {
                return .failed(deadline == nil ? "it needs too many steps" : "it ran out of time")
            }
            let isAbsent = ["no such table", "no such column"].contains(where: error.message.hasPrefix)
            return isAbsent ? .notApplicable(error.message) : .failed(error.message)
        }
    }
}

/// The results of invariants in several stores, for reporting those that were not checked.
package struct InvariantResults {
    private var absences: [(invariant: Invariant, reason: String)] = []
    private var failures: [(invariant: Invariant, store: String, reason: String)] = []
    private var checked: Set<String> = []

    package init() {}

    package mutating func add(_ result: Invariant.Result, of invariant: Invariant, in store: String) {
        switch result {
        case .holds, .broken: checked.insert(invariant.name)
        case .notApplicable(let reason): absences.append((invariant, reason))
        case .failed(let reason):
            checked.insert(invariant.name)
            failures.append((invariant, store, reason))
        }
    }

    /// Sentences about the invariants that were not checked: those that failed, and those for whose tables there is no
    /// store.
    package var notes: [String] {
        var seen = checked
        return failures.map { invariant, store, reason in
            "The invariant '\(invariant.title)' (\(invariant.name)) was not checked in the store '\(store)': \(reason)."
        }
            + absences.filter { seen.insert($0.invariant.name).inserted }.map { invariant, reason in
                "The invariant '\(invariant.title)' (\(invariant.name)) applies to no store: \(reason)."
            }
    }
}

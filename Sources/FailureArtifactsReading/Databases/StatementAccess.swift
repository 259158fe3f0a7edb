internal import CFailureArtifactsSQLite
package import FailureArtifactsSQLite

/// The tables and columns that a statement reads, as SQLite's authorizer reports them while it compiles the statement
/// (<https://www.sqlite.org/c3ref/set_authorizer.html>). Names are folded. Tables of views and of triggers count like
/// those that the statement names.
package struct StatementAccess: Sendable, Equatable {
    /// The columns that are read, by table; no columns if only the number of rows matters.
    package private(set) var reads: [String: Set<String>] = [:]
    package private(set) var functions: Set<String> = []

    /// Compiles a statement.
    ///
    /// - `connection`: a connection to a database with the statement's tables. It has no other authorizer.
    package init(of sql: String, on connection: borrowing Connection) throws(SQLiteError) {
        let recorder = Recorder()
        try withExtendedLifetime(recorder) { () throws(SQLiteError) in
            let context = Unmanaged.passUnretained(recorder).toOpaque()
            sqlite3_set_authorizer(
                connection.handle,
                { context, action, first, second, _, _ in
                    guard let context else { return SQLITE_OK }
                    let recorder = Unmanaged<Recorder>.fromOpaque(context).takeUnretainedValue()
                    recorder.add(
                        action, first.map { folded(String(cString: $0)) } ?? "",
                        second.map { folded(String(cString: $0)) } ?? "")
                    return SQLITE_OK
                }, context)
            defer { sqlite3_set_authorizer(connection.handle, nil, nil) }
            _ = try connection.prepare(sql)
        }
        self = recorder.access
    }

    private init() {}

    /// Collects the authorizer's reports.
    private final class Recorder {
        var access = StatementAccess()

        func add(_ action: CInt, _ first: String, _ second: String) {
            switch action {
            case SQLITE_READ:
                access.reads[first, default: []].formUnion(second.isEmpty ? [] : [second])
            case SQLITE_FUNCTION: access.functions.insert(second)
            default: break
            }
        }
    }
}

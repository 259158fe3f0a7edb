package import FailureArtifactsSQLite
internal import CFailureArtifactsFunctions
internal import CFailureArtifactsSQLite
package import FailureArtifactsSystem

/// Two stores side by side: what was changed, so that A became B.
///
/// Rows are compared inside SQLite, which has both files open in one connection; only those that differ get
/// out of it, one after the other. Memory does not depend on the number of rows, only on their size.
///
/// Values are the same where type and bytes are: 1, 1.0 and '1' are three values, and no collation makes two
/// texts one. -0.0 and 0.0 are the same. What `ANALYZE` left (`sqlite_stat1` and the like) is not compared.
package struct StoreComparison: ~Copyable {
    /// A database file.
    package struct Side: Equatable, Sendable {
        package let path: String
        /// Whether nobody else uses the file, and it needs no journal: it is read without locks.
        package let isPrivate: Bool

        package init(path: String, isPrivate: Bool) {
            self.path = path
            self.isPrivate = isPrivate
        }

        /// A file that others may have open.
        ///
        /// - Returns: Nil where the file does not begin as every SQLite database does.
        /// - Throws: Why the file cannot be read.
        package init?(ofFile path: String) throws(SystemError) {
            let file = try File(sharing: path)
            var header = [UInt8](repeating: 0, count: 20)
            let count = try header.withMutableBytes { (buffer) throws(SystemError) in
                try file.read(into: buffer, at: 0)
            }
            guard count == header.count, header.starts(with: DatabaseHeader.magic) else {
                return nil
            }
            // Byte 19 is 2 in WAL mode (https://www.sqlite.org/fileformat.html#the_database_header). Without
            // a WAL beside it nobody has such a file open, and a reader with locks would leave one there.
            let hasWAL = try FileSystem.status(of: path + "-wal") != nil
            self.init(path: path, isPrivate: header[19] == 2 && !hasWAL)
        }
    }

    let connection: Connection
    let a: DatabaseSchema
    let b: DatabaseSchema
    /// How many pairs of values one call of the comparing function takes.
    let pairsPerCall: Int

    /// Opens both files for reading and reads their schemas.
    ///
    /// They may come from anywhere: nothing that they bring along is run, but for the expressions of
    /// generated columns, with SQLite's own functions.
    ///
    /// - Parameters:
    ///   - a: What there was.
    ///   - b: What it became.
    ///   - deadline: When everything that is asked of this comparison ends with an error that
    ///     ``SQLiteError/isInterrupted``; nil for as long as the limits allow.
    ///   - limits: How much the stores can ask for.
    /// - Throws: Why SQLite does not read a file, or that the files have different text encodings, which
    ///   SQLite cannot compare.
    package init(
        a: Side, b: Side, deadline: Instant? = nil, limits: UntrustedLimits = .standard
    ) throws(SQLiteError) {
        let connection = try Self.open(a, b, deadline, limits)
        let schemas = (
            try DatabaseSchema("main", of: connection), try DatabaseSchema("other", of: connection)
        )
        self.a = schemas.0
        self.b = schemas.1
        pairsPerCall = max(
            1, Int(sqlite3_limit(connection.handle, SQLITE_LIMIT_FUNCTION_ARG, -1)) / 2)
        self.connection = connection
    }

    private static func open(
        _ a: Side, _ b: Side, _ deadline: Instant?, _ limits: UntrustedLimits
    ) throws(SQLiteError) -> Connection {
        let connection = try Connection.untrusted(a.path, isPrivate: a.isPrivate, limits: limits)
        if let deadline { connection.setDeadline(deadline) }
        // A file that is no database is named by the first statement that reads it.
        do throws(SQLiteError) {
            try connection.execute("PRAGMA main.schema_version")
        } catch {
            throw SQLiteError("read '\(a.path)'", code: error.code, message: error.message)
        }
        do throws(SQLiteError) {
            let attach = try connection.prepare("ATTACH ? AS other")
            try attach.bind([
                .text(Connection.uri(path: Path.absolute(b.path), isImmutable: b.isPrivate))
            ])
            _ = try attach.step()
        } catch {
            throw SQLiteError("read '\(b.path)'", code: error.code, message: error.message)
        }
        // An index that SQLite makes for one query would have the size of the table.
        try connection.execute("PRAGMA automatic_index = 0")
        guard failure_artifacts_add_differ(connection.handle) == SQLITE_OK else {
            throw SQLiteError("add a function", handle: connection.handle)
        }
        // One state of each file, from the first read on.
        try connection.execute("BEGIN")
        return connection
    }
}

internal import CFailureArtifactsSQLite
package import FailureArtifactsSQLite

// Changes to private copies of untrusted stores.
extension Connection {
    /// The maximum growth of an untrusted store that is changed, in bytes.
    private static let growthLimit: Int64 = 256 << 20

    /// Opens a private copy of an untrusted store for changing it. Code in the file is not run, as in
    /// ``untrusted(_:isPrivate:limits:)``: no trigger, for example. Foreign keys are not enforced, other constraints
    /// are. The journal is in memory, so a process that ends in a transaction leaves a damaged file.
    package static func untrustedForWriting(
        _ path: String, limits: UntrustedLimits = .standard
    ) throws(SQLiteError) -> Connection {
        let connection = try Connection(path: path, mode: .readWrite)
        try connection.distrust(limits)
        try connection.execute(
            "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF")
        if limits.seconds != nil {
            // A statement of an untrusted log must not fill the disk.
            let pages = try connection.integer(of: "PRAGMA page_count")
            let size = try max(connection.integer(of: "PRAGMA page_size"), 512)
            try connection.execute("PRAGMA max_page_count = \(pages + growthLimit / size)")
        }
        return connection
    }

    /// Enables triggers and foreign keys, which ``untrusted(_:isPrivate:limits:)`` switches off.
    ///
    /// `prepare` then fails for statements whose triggers or foreign keys name something that is missing.
    ///
    /// - `foreignKeys`: true to enforce foreign keys.
    package borrowing func enableTriggers(foreignKeys: Bool = true) throws(SQLiteError) {
        failure_artifacts_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)
        // The actions of foreign keys count, too. The time limit ends endless recursion.
        sqlite3_limit(handle, SQLITE_LIMIT_TRIGGER_DEPTH, 100)
        try execute("PRAGMA foreign_keys = \(foreignKeys ? "ON" : "OFF")")
    }
}

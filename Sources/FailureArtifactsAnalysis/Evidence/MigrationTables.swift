internal import FailureArtifactsSQLite

/// The tables in which libraries record migrations: their content differs from run to run.
package enum MigrationTables {
    private static let names: Set<String> = ["grdb_migrations", "_fluent_migrations", "_fluent_enums"]

    /// Returns true if a table was made by a library for its migrations.
    package static func contains(_ table: String) -> Bool { names.contains(folded(table)) }
}

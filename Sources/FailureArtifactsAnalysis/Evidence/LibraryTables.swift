internal import FailureArtifactsSQLite

/// The tables in which libraries and frameworks keep their own state, such as migrations; without their rows, a library
/// would create the application's tables again.
package enum LibraryTables {
    private static let names: Set = [
        "_fluent_enums", "android_metadata", "room_master_table", "schema_version", "z_metadata",
        "z_modelcache", "z_primarykey",
    ]

    package static func contains(_ table: String) -> Bool {
        let name = folded(table)
        return names.contains(name) || name.hasSuffix("migrations")
    }
}

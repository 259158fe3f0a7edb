internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite

/// The type with which a generated test opens its store.
enum FixtureStoreType: Equatable {
    /// The test kit's own type.
    case sqlite
    case databaseQueue
    case databasePool
    /// A type of the user that conforms to `TestStore`.
    case own(String)

    /// Creates the type that `--store-type` names; nil if the text isn't the name of a type.
    init?(named name: String) {
        switch name {
        case "SQLiteTestStore": self = .sqlite
        case "DatabaseQueue": self = .databaseQueue
        case "DatabasePool": self = .databasePool
        default:
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            let isName = parts.allSatisfy { part in
                guard let first = part.first, first.isLetter || first == "_" else { return false }
                return part.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
            }
            guard isName else { return nil }
            self = .own(name)
        }
    }

    /// Infers the type from the way in which the failed test used the store.
    init(of store: BundleMetadata.Store, _ statements: [StatementRecord]) {
        // GRDB writes these statements out in full.
        let isGRDB =
            (store.tables ?? []).contains { $0.name == "grdb_migrations" }
            || statements.contains {
                ["COMMIT TRANSACTION", "BEGIN DEFERRED TRANSACTION", "BEGIN IMMEDIATE TRANSACTION"]
                    .contains($0.sql)
            }
        self = !isGRDB ? .sqlite : store.journalMode == "wal" ? .databasePool : .databaseQueue
    }
}

/// The names of a store's entries in a bundle.
///
/// The entries of stores with different names from ``StoreNames`` have different names.
package struct StoreEntries: Sendable {
    /// The end of the name of a committed copy.
    package static let committedSuffix = ".committed"

    package let copy: String
    package let committed: String
    /// The start of the names of the raw files.
    package let raw: String
    package let statements: String
    package let history: String

    /// Names the entries of a store in `stores`, or in the folder of a snapshot.
    package init(of name: String, in folder: String) {
        copy = "\(folder)/\(name).sqlite"
        committed = "\(folder)/\(name)\(Self.committedSuffix).sqlite"
        let top = folder == "stores" ? "" : folder + "/"
        history = "\(top)history/\(name).wal-history"
        statements = "\(top)statements/\(name).jsonl"
        // Beside the stand-alone copy, SQLite would take a raw journal for the copy's own.
        raw = "\(top)raw/\(name).sqlite"
    }
}

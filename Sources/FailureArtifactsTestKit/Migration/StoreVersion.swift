/// A version of a store in a chain: what makes it out of the version before it.
///
/// ```swift
/// let boardGames: [StoreVersion<SQLiteTestStore>] = [
///     StoreVersion("App V1", .script("CREATE TABLE game (id INTEGER PRIMARY KEY, title TEXT NOT NULL)")),
///     StoreVersion("App V2", .script("ALTER TABLE game ADD COLUMN rating REAL")),
/// ]
/// ```
public struct StoreVersion<Store: TestStore>: Sendable {
    /// What it is called, in errors and in a bundle; unique in its chain.
    public let name: String
    /// Of the first version all that it holds, of the others the migration to it.
    public let content: StoreContent<Store>

    /// Creates a version.
    ///
    /// - Parameters:
    ///   - name: What it is called; unique in its chain.
    ///   - content: Of a first version all that it holds, of a later one the migration to it: a script, a
    ///     resource or, for a library's own migration, a closure.
    public init(_ name: String, _ content: StoreContent<Store>) {
        self.name = name
        self.content = content
    }
}

internal import CFailureArtifactsSQLite
public import Foundation

/// The location of one store of a test.
public enum StoreLocation: Hashable, Sendable {
    /// A database file in an existing directory; opening the store creates the file if it doesn't exist.
    case file(URL)
    /// A database in memory, with the store's name in a bundle.
    ///
    /// A library that opens `:memory:` cannot pass the name on; its store is called `memory`.
    case memory(name: String)
    /// The file `/dev/null`: a file to the library, but never written to.
    ///
    /// SQLite keeps such a store in its page cache, provided that the connection runs ``setupAtDevNull`` first. A
    /// process can have one such store at a time, or several if they are opened by the URI `file:/dev/null?nolock=1`.
    case devNull

    /// The statements that a connection to `/dev/null` must run before any other.
    ///
    /// With them SQLite reads nothing back from the file, and creates no journal in `/dev`.
    public static let setupAtDevNull = """
        PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; \
        PRAGMA cache_spill = OFF; PRAGMA cache_size = -1000000000; PRAGMA temp_store = MEMORY
        """

    /// The path for a library to open: a file's path, `:memory:` or `/dev/null`.
    public var path: String {
        switch self {
        case .file(let url): url.path(percentEncoded: false)
        case .memory: ":memory:"
        case .devNull: "/dev/null"
        }
    }
}

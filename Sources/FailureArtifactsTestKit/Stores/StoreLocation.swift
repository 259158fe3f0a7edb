public import Foundation
internal import FailureArtifactsSystem

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

/// The placement of tests' stores: on disk or in memory.
public enum StorePlacement: String, CaseIterable, Hashable, Sendable {
    /// Files in a directory of the test's own, below the temporary directory.
    case onDisk = "disk"
    /// Databases in memory.
    case inMemory = "memory"
    /// The file `/dev/null`; see ``StoreLocation/devNull``.
    case atDevNull = "null"

    /// The placement that the environment variable `FAILURE_ARTIFACTS_TEST_STORES` names: `disk`, `memory` or `null`;
    /// by default `disk`.
    ///
    /// The variable is read once. Another value gives one warning on standard error.
    public static let standard: StorePlacement = {
        var reader = EnvironmentReader(ProcessEnvironment.variables)
        let placement = reader.value(
            of: "FAILURE_ARTIFACTS_TEST_STORES", default: StorePlacement.onDisk,
            or: "one of disk, memory, null", described: \.rawValue
        ) { StorePlacement(rawValue: $0) }
        for warning in reader.warnings {
            StandardError.writeLine("failure-artifacts: warning: \(warning)")
        }
        return placement
    }()
}

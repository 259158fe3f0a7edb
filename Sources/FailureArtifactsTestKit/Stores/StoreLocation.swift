public import Foundation
internal import FailureArtifactsSystem

/// Where one store of a test is.
public enum StoreLocation: Hashable, Sendable {
    /// A database file, which may have to be created, in a directory that exists.
    case file(URL)
    /// In memory; the name is what the store is called in a bundle, where the library can pass it on.
    case memory(name: String)
    /// At `/dev/null`: a file by all that the library can see, of which nothing is ever written.
    ///
    /// SQLite keeps such a store in its page cache, provided that the connection first runs
    /// ``setupAtDevNull``. A process can have one such store at a time, or several that are opened by the URI
    /// `file:/dev/null?nolock=1`.
    case devNull

    /// What a connection to `/dev/null` has to run before anything else, so that SQLite reads nothing back
    /// and creates no journal in `/dev`.
    public static let setupAtDevNull = """
        PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; \
        PRAGMA cache_spill = OFF; PRAGMA cache_size = -1000000000; PRAGMA temp_store = MEMORY
        """

    /// The path that a library opens: that of the file, `:memory:` or `/dev/null`.
    public var path: String {
        switch self {
        case .file(let url): url.path(percentEncoded: false)
        case .memory: ":memory:"
        case .devNull: "/dev/null"
        }
    }
}

/// Where the stores of tests are put: the switch between files and memory.
public enum StorePlacement: String, CaseIterable, Hashable, Sendable {
    /// Files in a directory of the test's own.
    case onDisk = "disk"
    /// In memory.
    case inMemory = "memory"
    /// At `/dev/null`; see ``StoreLocation/devNull``.
    case atDevNull = "null"

    /// What the variable `FAILURE_ARTIFACTS_TEST_STORES` says: `disk`, `memory` or `null`; by default files.
    ///
    /// It is read once. A value that is none of these gives a line on standard error.
    public static let standard: StorePlacement = {
        let name = "FAILURE_ARTIFACTS_TEST_STORES"
        guard let value = ProcessEnvironment.variables[name] else { return .onDisk }
        if let placement = StorePlacement(rawValue: value) { return placement }
        StandardError.writeLine(
            "failure-artifacts: warning: \(name) is '\(value)', which is none of disk, memory and null; the "
                + "tests' stores are on disk.")
        return .onDisk
    }()
}

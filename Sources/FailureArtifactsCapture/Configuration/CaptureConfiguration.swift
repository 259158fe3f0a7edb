#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
internal import FailureArtifactsSystem

/// The settings of a capture, and the location of its bundles.
///
/// A new configuration has the values of the environment variables `FAILURE_ARTIFACTS…`, which are read once per
/// process. If a variable is not set, its default applies. Values assigned later take precedence.
public struct CaptureConfiguration: Sendable, Equatable {
    /// The failures of a test that cause a capture of its stores.
    public enum Mode: String, Sendable, CaseIterable {
        /// The first failure.
        case firstFailure = "first-failure"
        /// Each failure.
        ///
        /// Captures after the first go to `snapshots/failure-<n>/`.
        case everyFailure = "every-failure"
        /// No failure; nothing is watched.
        case off
    }

    /// The passing tests whose stores are captured.
    public enum PassingCapture: String, Sendable, CaseIterable {
        /// No passing tests.
        case never
        /// Tests that failed when they were last run.
        ///
        /// The last run is an earlier one in this process, or one that left a bundle in the directory.
        case afterFailure = "retry"
        /// All passing tests that an adapter reports.
        case always
    }

    /// The users that may read a bundle, besides root.
    public enum Readers: String, Sendable, CaseIterable {
        /// The user account of the tests.
        case owner
        /// The owner and the members of the file's group.
        case group
        case everyone
    }

    /// The failures that cause a capture of stores: `FAILURE_ARTIFACTS`, by default the first one.
    public var mode: Mode
    /// The passing tests whose stores are captured, for comparison with a failure: `FAILURE_ARTIFACTS_PASSING`, by
    /// default none.
    ///
    /// Stores are captured when the test's own code has ended. With XCTest, this is after the teardown blocks and
    /// before `tearDown()`. With Swift Testing, it is when the test function has returned and the suite's value no
    /// longer exists. For stores closed before that time, the remaining data is captured, including deleted files.
    ///
    /// A change applies to tests that start afterward. All bundles of passing tests together take at most half of the
    /// space allowed for the directory.
    public var capturesPassingTests = PassingCapture.never
    /// The directory for bundles: `FAILURE_ARTIFACTS_DIR`, by default `failure-artifacts` in the process's initial
    /// directory.
    ///
    /// It is created when the first test is captured. If it can't be created or written to, bundles go to
    /// `failure-artifacts` in the temporary directory. One warning on standard error reports this.
    public var directory: URL
    /// The maximum size of a copied store, in bytes: `FAILURE_ARTIFACTS_MAX_STORE_BYTES`, by default 1 GiB.
    ///
    /// Larger stores are described, not copied.
    public var maximumStoreBytes: UInt64
    /// The maximum total size of the directory's bundles, in bytes: `FAILURE_ARTIFACTS_MAX_TOTAL_BYTES`, by default 4
    /// GiB.
    ///
    /// It applies to all processes of a run together.
    public var maximumTotalBytes: UInt64
    /// The maximum number of bundles in the directory: `FAILURE_ARTIFACTS_MAX_BUNDLES`, by default 200.
    ///
    /// If there are more, the oldest are removed. On a CI service, later failures leave none instead.
    public var maximumBundles: Int
    /// True outside of CI services.
    var removesOldestBundles = false
    /// The maximum size of a bundle, in bytes: `FAILURE_ARTIFACTS_MAX_BUNDLE_BYTES`.
    ///
    /// It also applies to the bundle's content before compression. The default is 3 GiB or three times
    /// ``maximumStoreBytes``, whichever is more. Content that would exceed the limit is only described.
    public var maximumBundleBytes: UInt64?
    /// The minimum free space on the directory's volume, in bytes: `FAILURE_ARTIFACTS_MIN_FREE_BYTES`, by default 256
    /// MiB.
    ///
    /// If less space is free, stores are described, not copied. A value of 0 means no minimum.
    public var minimumFreeBytes: UInt64
    /// A Boolean value that indicates whether stores are discovered without registration:
    /// `FAILURE_ARTIFACTS_DISCOVERY`, by default `on`.
    public var discoversStores: Bool
    /// A Boolean value that indicates whether encrypted stores are copied in plain, through the connections that have
    /// the key; false by default.
    ///
    /// By default, an encrypted store is copied as it is, in its committed state. Only those who have the key can read
    /// the copy, and the commands of the tool can't. This applies to SQLCipher and to other libraries that encrypt the
    /// pages of a database. A plain copy is made with `sqlite3_serialize`, also outside of transactions.
    public var decryptsStores = false
    /// The prefixes of other copies of SQLite in the process: `FAILURE_ARTIFACTS_SQLITE_PREFIXES`, separated by commas,
    /// by default none.
    ///
    /// If a package brings its own SQLite under other names, such as `my_sqlite3_open_v2`, its prefix is `my_`. Its
    /// stores in memory and its uncommitted changes are then captured, too. The process must export the functions, as
    /// shared libraries do. On Linux, an executable does so only if it was linked with `-Xlinker --export-dynamic`. The
    /// copy in sqlite-nio, which Vapor and Fluent use, is always known. Assigning a value only adds prefixes, from the
    /// next `FailureObserver.install(_:)` on. At most three are used.
    public var sqlitePrefixes: [String] = []
    /// The users that may read the bundles: `FAILURE_ARTIFACTS_READABLE_BY`, by default only their owner.
    ///
    /// A directory that was not created for bundles keeps its permissions.
    public var readers = Readers.owner
    /// The number of last statements to keep for each connection: `FAILURE_ARTIFACTS_STATEMENTS`, by default 1000.
    ///
    /// A value of 0 turns the log off. A change applies to connections opened afterward. The application may set its own
    /// trace callback (`sqlite3_trace_v2`).
    public var maximumStatements: Int
    /// A Boolean value that indicates whether the statement log includes the values that were bound to statements:
    /// `FAILURE_ARTIFACTS_VALUES`, by default `on`.
    ///
    /// The first executions of each statement in a test have them, and later ones as far as a hundredth of the time
    /// suffices. Redactions remove them.
    public var recordsBoundValues = true
    /// A Boolean value that indicates whether the statement log includes the lines of source code that ran the
    /// statements: `FAILURE_ARTIFACTS_SOURCE_LINES`, by default `on`.
    ///
    /// The first executions of each statement in a test have them, those from another place, and later ones as far as a
    /// hundredth of the time suffices.
    public var recordsSourceLines = true
    /// A Boolean value that indicates whether bundles are packed on a separate thread while the next tests run.
    ///
    /// The default is true. If it is false, the end of a failing test waits for its bundle. In both cases, the process
    /// waits for its bundles before it ends.
    public var packsInBackground = true
    /// The maximum size of a store whose content is kept in memory when it is about to be lost, in bytes.
    ///
    /// The content is kept until the test has ended. This applies to content that is rolled back, and to the last
    /// content of stores in memory. The default is 16 MiB; 0 turns it off.
    public var maximumKeptBytes: UInt64 = 16 << 20
    /// The maximum size of a store's history, in bytes; 64 MiB by default, 0 for no history.
    ///
    /// If there is more, the newest transactions are kept. `FAILURE_ARTIFACTS_HISTORY=off` sets it to 0. Then no
    /// transactions are recorded of stores opened afterward.
    public var maximumHistoryBytes: UInt64 = 64 << 20
    /// A Boolean value that indicates whether a failing test's stores are checkpointed after they are copied; false by
    /// default.
    ///
    /// The test can notice the difference: its WAL is emptied, as by `PRAGMA wal_checkpoint(TRUNCATE)`.
    public var checkpointsOriginal = false
    /// The maximum time that the capture of one store waits for locks and other threads, in seconds; 2 by default.
    public var timeLimitPerStore: Double = 2
    /// The time after which no further store of the same failure is copied, in seconds; 10 by default.
    ///
    /// Stores that the test has used come first. Stores that are merely still open from earlier tests come last.
    public var timeLimitPerFailure: Double = 10

    /// A directory of invariants: `FAILURE_ARTIFACTS_INVARIANTS`, by default none.
    ///
    /// Each file with the extension `sql` is a query that must return no rows. The queries run on the copies of a
    /// failing test's stores while the bundle is packed. Broken invariants are listed in the bundle.
    public var invariants: URL?

    /// The redactions of content that must not get into bundles.
    ///
    /// By default, they are read from the file named by `FAILURE_ARTIFACTS_REDACTIONS`, if any. They are applied before
    /// anything is written to ``directory``. A store that they can't be applied to is described, not copied.
    public var redactions: [Redaction] = []
    /// The key for the hashes of ``Redaction/hash(_:of:)``; by default random bytes.
    ///
    /// The random bytes are created anew for each process and stored nowhere. With your own salt, a value has the same
    /// hash in each bundle. Anyone who has the salt can test which value produces a hash.
    public var redactionSalt: String?

    /// Creates a configuration with the values of the process's environment.
    public init() {
        self = Self.environment.configuration
    }

    /// True if the stores of tests are discovered.
    var watchesStores: Bool { mode != .off && discoversStores }

    /// ``directory`` as a path, without a slash at its end.
    var directoryPath: String {
        let path = Path.absolute(directory.path(percentEncoded: false))
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// The configuration from the process's environment, with full sentences about variables that could not be read.
    package static let environment = parse(
        ProcessEnvironment.variables, workingDirectory: Path.currentDirectory)
}

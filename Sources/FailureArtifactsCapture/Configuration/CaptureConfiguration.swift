#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
internal import FailureArtifactsSystem

/// What is captured, and where it goes.
///
/// A new configuration has the values of the environment variables `FAILURE_ARTIFACTS…`, read once per
/// process, and the defaults where a variable is not set; what is then assigned wins.
public struct CaptureConfiguration: Sendable, Equatable {
    /// Which failures of a test have its stores captured.
    public enum Mode: String, Sendable, CaseIterable {
        /// The first one.
        case firstFailure = "first-failure"
        /// Each one: those after the first go to `snapshots/failure-<n>/`.
        case everyFailure = "every-failure"
        /// None; nothing is watched.
        case off
    }

    /// Which tests that pass have their stores captured.
    public enum PassingCapture: String, Sendable, CaseIterable {
        /// None.
        case never
        /// Those that failed when they were last run: earlier in this process, or with a bundle that is in the
        /// directory.
        case afterFailure = "retry"
        /// All that an adapter reports.
        case always
    }

    /// Who may read a bundle, besides root.
    public enum Readers: String, Sendable, CaseIterable {
        /// Whoever runs the tests.
        case owner
        /// The members of the file's group too.
        case group
        case everyone
    }

    /// Which failures have the stores captured: `FAILURE_ARTIFACTS`, by default the first one.
    public var mode: Mode
    /// Which tests that pass have their stores captured, to be compared with a failure's:
    /// `FAILURE_ARTIFACTS_PASSING`, by default none.
    ///
    /// They are captured when the test's own code has ended: with XCTest after its teardown blocks and before
    /// `tearDown()`, with Swift Testing when its function has returned and the suite's value is gone. Of stores
    /// that were closed before, what was left of them is taken, deleted files too. It applies to the tests that
    /// start from then on. All bundles of passing tests together take at most half of what the directory may
    /// hold.
    public var capturesPassingTests = PassingCapture.never
    /// Where bundles go: `FAILURE_ARTIFACTS_DIR`, by default `failure-artifacts` in the directory that the
    /// process was started in.
    ///
    /// It is created when the first test is captured. If that isn't possible, or nothing can be written there, bundles
    /// go to `failure-artifacts` in the temporary directory, and one warning on standard error says so.
    public var directory: URL
    /// Larger stores are described, not copied: `FAILURE_ARTIFACTS_MAX_STORE_BYTES`, by default 1 GiB.
    public var maximumStoreBytes: UInt64
    /// How many bytes the directory's bundles may have, over all processes of a run:
    /// `FAILURE_ARTIFACTS_MAX_TOTAL_BYTES`, by default 4 GiB.
    public var maximumTotalBytes: UInt64
    /// How many bundles the directory may have: `FAILURE_ARTIFACTS_MAX_BUNDLES`, by default 200.
    public var maximumBundles: Int
    /// How many bytes a bundle may have, and what is in it before it is compressed:
    /// `FAILURE_ARTIFACTS_MAX_BUNDLE_BYTES`, by default 3 GiB, or three times ``maximumStoreBytes``, if that is more.
    ///
    /// What would be more is described only.
    public var maximumBundleBytes: UInt64?
    /// How many bytes are left free of the volume that the directory is on: `FAILURE_ARTIFACTS_MIN_FREE_BYTES`, by
    /// default 256 MiB; 0 for none.
    ///
    /// Where there are fewer, stores are described, not copied.
    public var minimumFreeBytes: UInt64
    /// Whether stores are found without registration: `FAILURE_ARTIFACTS_DISCOVERY`, by default `on`.
    public var discoversStores: Bool
    /// Who may read the bundles: `FAILURE_ARTIFACTS_READABLE_BY`, by default their owner alone.
    ///
    /// A directory that was not created for them keeps its permissions.
    public var readers = Readers.owner
    /// How many of its last statements are kept of each connection: `FAILURE_ARTIFACTS_STATEMENTS`, by default
    /// 200; 0 turns the log off.
    ///
    /// It applies to the connections that are opened from then on. A connection whose application sets a trace
    /// of its own (`sqlite3_trace_v2`) has no log from then on.
    public var maximumStatements: Int
    /// Whether the log of statements has the values bound to them; by default it has not: they may be secrets.
    public var recordsBoundValues = false
    /// Whether the log of statements has how long they took; by default it has not.
    ///
    /// That makes many small statements slower, by up to a tenth.
    public var recordsDurations = false
    /// Whether bundles are packed on a thread of their own while the next tests run; by default they are.
    ///
    /// Without it a failing test's end waits for its bundle. Either way the process does.
    public var packsInBackground = true
    /// Of stores with at most so many bytes, what is about to be lost is kept in memory until the test has
    /// ended: what is rolled back, and the last content of stores in memory; by default 16 MiB, 0 for none.
    public var maximumKeptBytes: UInt64 = 16 << 20
    /// The largest history of a store in bytes, by default 64 MiB, 0 for none: of a WAL that holds more, the
    /// newest transactions are kept.
    public var maximumHistoryBytes: UInt64 = 64 << 20
    /// Whether what a store held when a test began to use it is kept, for the bundle's `snapshots/start`, should
    /// the test fail; by default it is not.
    ///
    /// So one sees what the test has changed, whatever the store's journal mode and in memory too. It costs
    /// each test one reading of each of its stores, in its first statement. A file is read by a connection that
    /// is opened for it, which locks writers out of a store with a rollback journal for that moment. Stores of more than ``maximumKeptBytes`` are not kept,
    /// nor is what exceeds 64 MiB over all stores; databases that a connection attaches are not.
    public var baseline = false
    /// Whether a failing test's stores are checkpointed after they have been copied; by default they are left
    /// as they are.
    ///
    /// The test can tell the difference: its WAL is emptied, as by `PRAGMA wal_checkpoint(TRUNCATE)`.
    public var checkpointsOriginal = false
    /// Seconds that the capture of one store may wait for locks and for other threads; by default 2.
    public var timeLimitPerStore: Double = 2
    /// Seconds after which no further store of the same failure is copied; by default 10.
    ///
    /// What the test has used comes first, what is merely still open from earlier tests comes last.
    public var timeLimitPerFailure: Double = 10

    /// What must not get into bundles: by default what the file says that `FAILURE_ARTIFACTS_REDACTIONS` names, or
    /// nothing.
    ///
    /// They are applied before anything is written to ``directory``. A store that they can't be applied to is
    /// described and not copied.
    public var redactions: [Redaction] = []
    /// What the hashes of ``Redaction/hash(_:of:)`` are keyed with; by default random bytes that are made anew for
    /// each process and kept nowhere.
    ///
    /// With a salt of one's own a value has the same hash in each bundle. Who knows the salt can try which value
    /// has which hash.
    public var redactionSalt: String?

    /// The values of the process's environment.
    public init() {
        self = Self.environment.configuration
    }

    /// ``directory`` as a path, without a slash at its end.
    var directoryPath: String {
        let path = Path.absolute(directory.path(percentEncoded: false))
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// The configuration that the process's environment gives, with full sentences on variables that could
    /// not be read.
    package static let environment = parse(
        ProcessEnvironment.variables, workingDirectory: Path.currentDirectory)
}

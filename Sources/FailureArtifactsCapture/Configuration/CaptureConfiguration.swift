internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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

    /// The place for the statements of passing tests.
    public enum Baseline: Sendable, Equatable {
        /// Below the package's build directory if that exists, otherwise in the user's directory for caches.
        case standard
        case directory(URL)
        /// Nowhere; none are recorded.
        case off
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
    public var mode = Mode.firstFailure
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
    /// The place for the statements of passing tests: `FAILURE_ARTIFACTS_BASELINE`, by default ``Baseline/standard``.
    ///
    /// A failing test's bundle has the statements of its last passing runs, for comparison. With ``redactions``, none are
    /// recorded.
    public var baseline = Baseline.standard
    /// The directory for bundles: `FAILURE_ARTIFACTS_DIR`, by default `failure-artifacts` in the process's initial
    /// directory.
    ///
    /// It is created when the first test is captured. If it can't be created or written to, bundles go to
    /// `failure-artifacts` in the temporary directory. One warning on standard error reports this.
    public var directory = URL(
        filePath: ArtifactsDirectory.defaultName, directoryHint: .isDirectory)
    /// The limits of the directory.
    var limits = DirectoryLimits()
    /// The maximum size of a copied store, in bytes: `FAILURE_ARTIFACTS_MAX_STORE_BYTES`, by default 1 GiB.
    ///
    /// Larger stores are described, not copied.
    public var maximumStoreBytes: UInt64 {
        get { limits.storeBytes }
        set { limits.storeBytes = newValue }
    }
    /// The maximum total size of the directory's bundles, in bytes: `FAILURE_ARTIFACTS_MAX_TOTAL_BYTES`, by default 4
    /// GiB.
    ///
    /// It applies to all processes of a run together.
    public var maximumTotalBytes: UInt64 {
        get { limits.totalBytes }
        set { limits.totalBytes = newValue }
    }
    /// The maximum number of bundles in the directory: `FAILURE_ARTIFACTS_MAX_BUNDLES`, by default 200.
    ///
    /// If there are more, the oldest are removed. On a CI service, later failures leave none instead.
    public var maximumBundles: Int {
        get { limits.bundles }
        set { limits.bundles = newValue }
    }
    /// The maximum size of a bundle, in bytes: `FAILURE_ARTIFACTS_MAX_BUNDLE_BYTES`.
    ///
    /// It also applies to the bundle's content before compression. The default is 3 GiB or three times
    /// ``maximumStoreBytes``, whichever is more. Content that would exceed the limit is only described.
    public var maximumBundleBytes: UInt64? {
        get { limits.givenBundleBytes }
        set { limits.givenBundleBytes = newValue }
    }
    /// The minimum free space on the directory's volume, in bytes: `FAILURE_ARTIFACTS_MIN_FREE_BYTES`, by default 256
    /// MiB.
    ///
    /// If less space is free, stores are described, not copied. A value of 0 means no minimum.
    public var minimumFreeBytes: UInt64 {
        get { limits.freeBytes }
        set { limits.freeBytes = newValue }
    }
    /// A Boolean value that indicates whether stores are discovered without registration:
    /// `FAILURE_ARTIFACTS_DISCOVERY`, by default `on`.
    public var discoversStores = true
    /// A Boolean value that indicates whether encrypted stores are copied in plain, through the connections that have
    /// the key; false by default.
    ///
    /// By default, an encrypted store is copied as it is, in its committed state. Only those who have the key can read
    /// the copy, and the commands of the tool can't. This applies to SQLCipher and to other libraries that encrypt the
    /// pages of a database. A plain copy is made if the page cache of a connection has all pages of the store.
    public var decryptsStores = false
    /// The users that may read the bundles: `FAILURE_ARTIFACTS_READABLE_BY`, by default only their owner.
    ///
    /// A directory that was not created for bundles keeps its permissions.
    public var readers = Readers.owner
    /// The number of last statements to keep for each connection: `FAILURE_ARTIFACTS_STATEMENTS`, by default 1000.
    ///
    /// A value of 0 turns the log off. A change applies to connections opened afterward. The application may set its own
    /// trace callback (`sqlite3_trace_v2`).
    public var maximumStatements = 1000
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
    /// The maximum size of a store's history, in bytes; 64 MiB by default, 0 for no history.
    ///
    /// If there is more, the newest transactions are kept. `FAILURE_ARTIFACTS_HISTORY=off` sets it to 0. Then no
    /// transactions are recorded of stores opened afterward.
    public var maximumHistoryBytes = StoreCopier.maximumHistoryBytes
    /// The maximum time that the capture of one store waits for locks and other threads, in seconds; 2 by default.
    public var timeLimitPerStore: Double = 2
    /// The time after which no further store of the same failure, snapshot or passing test is copied, in seconds; 10 by
    /// default.
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

    /// Leaves all defaults.
    init(base: Void) {}

    /// Creates a configuration with the values of the process's environment.
    public init() {
        self = Self.environment.configuration
    }

    var watchesStores: Bool { mode != .off && discoversStores }

    /// The directory for the statements of passing tests; nil if none are recorded.
    var baselineDirectory: BaselineDirectory? {
        guard watchesStores, maximumStatements > 0, redactionRules.isEmpty else { return nil }
        return switch baseline {
        case .off: nil
        case .directory(let url): BaselineDirectory(Path.absolute(url.path(percentEncoded: false)))
        case .standard: Self.standardBaseline
        }
    }

    private static let standardBaseline = BaselineDirectory.standard(
        workingDirectory: Path.currentDirectory, variables: ProcessEnvironment.variables)

    /// ``directory`` as a path, without a slash at its end.
    var directoryPath: String {
        let path = Path.absolute(directory.path(percentEncoded: false))
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// The configuration from the process's environment, with full sentences about variables that could not be read.
    package static let environment = parse(
        ProcessEnvironment.variables, workingDirectory: Path.currentDirectory)
}

extension CaptureConfiguration {
    /// Reads a configuration from environment variables, and a full sentence for each value that could not be read.
    ///
    /// An empty value counts as not set. Relative paths refer to the working directory.
    package static func parse(
        _ variables: [String: String], workingDirectory: String
    ) -> (configuration: CaptureConfiguration, warnings: [String]) {
        var configuration = CaptureConfiguration(base: ())
        var warnings: [String] = []
        configuration.limits = DirectoryLimits(variables, &warnings)
        configuration.directory = URL(
            filePath: Path.join(workingDirectory, ArtifactsDirectory.defaultName),
            directoryHint: .isDirectory)
        warnings += settings(in: workingDirectory).apply(variables, to: &configuration)
        return (configuration, warnings)
    }

    /// The variables besides those of ``DirectoryLimits``; relative paths refer to a directory.
    private static func settings(in directory: String) -> [Setting<Self>] {
        [
            .choice("FAILURE_ARTIFACTS", \.mode),
            .choice("FAILURE_ARTIFACTS_PASSING", \.capturesPassingTests),
            .choice(BundleAccess.variable, \.readers),
            Setting(ArtifactsDirectory.variable, \.directory, or: "a path") { path in
                URL(filePath: Path.join(directory, path), directoryHint: .isDirectory)
            },
            Setting(
                BaselineDirectory.variable, \.baseline, or: "on, off or a directory",
                described: { _ in "on" }
            ) { text in
                switch text {
                case "on": .standard
                case "off": .off
                default:
                    .directory(
                        URL(filePath: Path.join(directory, text), directoryHint: .isDirectory))
                }
            },
            .number("FAILURE_ARTIFACTS_STATEMENTS", \.maximumStatements, or: "a number"),
            .isOn("FAILURE_ARTIFACTS_DISCOVERY", \.discoversStores),
            .isOn("FAILURE_ARTIFACTS_HISTORY", \.recordsHistory),
            .isOn("FAILURE_ARTIFACTS_VALUES", \.recordsBoundValues),
            .isOn("FAILURE_ARTIFACTS_SOURCE_LINES", \.recordsSourceLines),
            Setting(
                "FAILURE_ARTIFACTS_INVARIANTS", \.invariants,
                or: "a directory of SQL files that can be read",
                described: { $0?.path(percentEncoded: false) ?? "none" }
            ) { text in
                let path = Path.join(directory, text)
                guard (try? FileSystem.contents(ofDirectory: path)) != nil else { return nil }
                return URL(filePath: path, directoryHint: .isDirectory)
            },
            Setting(RedactionRules.variable) { file, configuration in
                do {
                    var rules = try RedactionRules(file: Path.join(directory, file))
                    configuration.redactionSalt = rules.salt
                    rules.salt = nil
                    configuration.redactions = [Redaction(rules)]
                    return nil
                } catch {
                    // The content to leave out is unknown, so all content is left out.
                    configuration.redactions = [.leaveOutContent]
                    return "\(RedactionRules.variable) is '\(file)'. \(error) Of stores, statements and "
                        + "attachments nothing is kept."
                }
            },
        ]
    }

    /// True if the states of stores are recorded.
    private var recordsHistory: Bool {
        get { maximumHistoryBytes > 0 }
        set { maximumHistoryBytes = newValue ? StoreCopier.maximumHistoryBytes : 0 }
    }

    /// Returns a directory of bundles with the configured readers.
    func artifactsDirectory(at path: String) -> ArtifactsDirectory {
        ArtifactsDirectory(
            path: path, readers: BundleAccess(rawValue: readers.rawValue) ?? .owner)
    }
}

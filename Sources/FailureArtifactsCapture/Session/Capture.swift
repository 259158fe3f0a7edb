internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Why there is no bundle, as a full sentence.
struct CaptureError: Error, CustomStringConvertible {
    let description: String
    /// Whether that is for want of room.
    var isLimit = false
}

/// The bundle of one test in the making, which fails or is captured although it passes.
///
/// What the test has to tell is staged when it happens, on the test's own thread: copies of its stores, and
/// what is known about them. When the test has ended, the staging directory is packed, by a thread that the next test
/// does not wait for. At each moment between, the staging directory on the disk is complete, so that somebody else can
/// pack it should this process die.
///
/// One thread at a time puts something into it: the one that holds ``RunningTest/capture``.
final class Capture: Sendable {
    struct State {
        var outcome = BundleMetadata.Outcome.failed
        var stores: [BundleMetadata.Store] = []
        var snapshots: [BundleMetadata.Snapshot] = []
        var attachments: [BundleMetadata.Attachment] = []
        var attachmentNames = UniqueNames()
        var warnings: [CaptureWarning] = []
        var saidWarnings = 0
        /// The problems of publishing the bundle, as full sentences; not in the bundle.
        var publishingProblems: [String] = []
        var limitsHit: Set<String> = []
        /// Which of the warnings are about the copies of a passing test.
        var passingWarnings = 0..<0
        /// Directories with what libraries have copied, until it is staged.
        var scratch: [String] = []
        /// Some of what redactions have removed.
        var removed = RemovedValues()
        /// What the staging directory says.
        var recorded: BundleMetadata?
        /// How long the test was held up by the capture of its first failure, in seconds.
        var duration: Double?

        mutating func warn(
            _ code: CaptureWarning.Code, _ text: String,
            _ parameters: [String: CaptureWarning.Parameter?] = [:]
        ) {
            warnings.append(CaptureWarning(code, text, parameters))
        }
    }

    let test: RunningTest
    let configuration: CaptureConfiguration
    let registry: ConnectionRegistry
    /// Whether a test has not ended yet.
    let isRunning: @Sendable (TestID) -> Bool
    /// Names a test that has not ended, or has left stores open.
    let opener: @Sendable (TestID) -> BundleMetadata.Store.Opener?
    /// The stores that adapters know.
    let storesOfLibraries: @Sendable () -> [LibraryStore]
    let directory: ArtifactsDirectory
    /// What the capture may still take.
    let room: StagingReservation
    var staging: StagingDirectory { room.staging }
    let state = Lock(State())
    /// What must not get into the bundle.
    let rules: RedactionRules
    private let environment = RunEnvironment.describe(variables: ProcessEnvironment.variables)
    private let start = Instant.now
    private let date = Timestamp.now

    /// Prepares the directory.
    ///
    /// - Parameters:
    ///   - test: The test.
    ///   - configuration: What is captured.
    ///   - output: The directory of bundles.
    ///   - registry: The process's connections.
    ///   - isRunning: Tells if a test has not ended yet.
    ///   - opener: Names a test that has ended and left a store open.
    ///   - libraryStores: The stores that adapters know.
    /// - Throws: That it can't be written to, or holds as many bundles as it may.
    init(
        of test: RunningTest, configuration: CaptureConfiguration, in output: OutputDirectory,
        registry: ConnectionRegistry,
        isRunning: @escaping @Sendable (TestID) -> Bool,
        opener: @escaping @Sendable (TestID) -> BundleMetadata.Store.Opener? = { _ in nil },
        libraryStores: @escaping @Sendable () -> [LibraryStore] = { [] }
    ) throws(CaptureError) {
        self.test = test
        self.configuration = configuration
        rules = configuration.redactionRules
        self.registry = registry
        self.isRunning = isRunning
        self.opener = opener
        self.storesOfLibraries = libraryStores
        do {
            (directory, room) = try output.use { path in
                let directory = configuration.artifactsDirectory(at: path)
                do {
                    try directory.prepare()
                    return (
                        directory, try StagingReservation(in: directory, within: configuration.limits)
                    )
                } catch let error as SystemError {
                    directory.removeIfEmpty()
                    throw error
                }
            }
        } catch let error as LimitReached {
            throw CaptureError(description: error.description, isLimit: true)
        } catch {
            throw CaptureError(
                description: "No bundle can be written to '\(output.path)': \(error). "
                    + "Set FAILURE_ARTIFACTS_DIR to a directory that can be written to.")
        }
        let lost = test.state.withLock(\.lostCaptures)
        state.withLock { state in
            state.warnings = lost.map {
                CaptureWarning(.earlierCaptureLost, $0)
            }
            // When they were new.
            state.saidWarnings = lost.count
        }
    }

    /// Returns the warnings that it has not returned before, as full sentences.
    func takeWarnings() -> [String] {
        state.withLock { state in
            defer {
                state.saidWarnings = state.warnings.count
                state.publishingProblems = []
            }
            // What publishing says of a copy is a warning of the bundle's, which is written by then.
            return state.warnings.dropFirst(state.saidWarnings).map(\.text) + state.publishingProblems
        }
    }

    // MARK: While the test runs

    /// Copies the stores as they are at the first failure; to be called on its thread.
    func stageFailure(_ failure: FailureEvent) {
        if isOfPassingTest { withdrawPassing() }
        add { stageStores(after: failure) }
    }

    /// Copies the stores as they are.
    ///
    /// - Parameter failure: What has happened; nil where the test passes.
    func stageStores(after failure: FailureEvent?) {
        let found = findStores()
        let stores = staging(found, below: "stores", after: failure)
        state.withLock { $0.stores = stores }
        if configuration.baseline { stageBaseline(of: found) }
    }

    /// Copies the stores as they are at another moment; to be called on the test's thread.
    ///
    /// - Parameters:
    ///   - label: The folder under `snapshots/`, which gets a number where there is one of that name.
    ///   - date: The moment.
    ///   - failure: What has happened; nil where the test asked for it.
    func stageSnapshot(label: String, at date: Timestamp, after failure: FailureEvent?) {
        let label = test.state.withLock { state in
            state.labels.claim(SafeName.make(from: label, maximumBytes: 100))
        }
        add {
            var stores = staging(findStores(), below: "snapshots/\(label)", after: failure)
            // Copies of a passing test's end go, should it fail yet.
            if !isOfPassingTest { for index in stores.indices { shareContent(of: &stores[index]) } }
            let snapshot = BundleMetadata.Snapshot(label: label, at: date, stores: stores)
            state.withLock { $0.snapshots.append(snapshot) }
        }
    }

    /// Adds what the stores held when the test began to use them.
    private func stageBaseline(of found: [FoundStores.Store]) {
        let baseline = found.compactMap { found in
            found.store.baseline(of: test.id).map {
                FoundStores.Store(
                    store: $0, name: found.name, isShared: found.isShared, openedBy: found.openedBy,
                    storeOfLibrary: nil)
            }
        }
        guard !baseline.isEmpty else { return }
        var stores = staging(baseline, below: "snapshots/\(RunningTest.startLabel)", after: nil)
        for index in stores.indices { shareContent(of: &stores[index]) }
        let snapshot = BundleMetadata.Snapshot(
            label: RunningTest.startLabel, at: test.date, stores: stores)
        state.withLock { $0.snapshots.insert(snapshot, at: 0) }
    }

    /// Copies the stores as they are when the process ends in the middle of the test.
    func stageEnd(_ event: FailureEvent) {
        state.withLock { $0.outcome = .terminated }
        if state.withLock(\.stores.isEmpty) {
            stageFailure(event)
        } else {
            stageSnapshot(label: "terminated", at: event.date, after: event)
        }
    }

    /// Puts something into the staging directory, and records what is known then.
    func add(_ body: () -> Void) {
        withoutFileSizeSignal {
            body()
            stageAttachments()
            for directory in state.withLock(\.scratch) { try? FileSystem.remove(directory) }
            state.withLock { $0.scratch = [] }
            record(describe())
        }
    }

    private func record(_ metadata: BundleMetadata) {
        // As at the end of most tests, which add nothing.
        if state.withLock({ $0.recorded == metadata }) { return }
        // Where there is no room for it there will be none for the bundle, which is said then.
        guard (try? staging.record(metadata)) != nil else { return }
        state.withLock { $0.recorded = metadata }
    }

    private func describe() -> BundleMetadata {
        let failures = test.state.withLock(\.failures).map(\.metadata)
        return state.withLock { state in
            // It has failed at the last moment.
            if !failures.isEmpty, state.outcome == .passed { state.outcome = .failed }
            let duration = state.duration ?? start.elapsed
            state.duration = duration
            var metadata = BundleMetadata(
                test: test.identity, outcome: state.outcome,
                fingerprint: Fingerprint.make(
                    test: test.identity, outcome: state.outcome, first: failures.first),
                failures: failures, stores: state.stores,
                snapshots: state.snapshots.isEmpty ? nil : state.snapshots,
                attachments: state.attachments,
                environment: environment,
                capture: BundleMetadata.Capture(
                    at: date, duration: duration, limitsHit: state.limitsHit.sorted()),
                warnings: state.warnings)
            if rules.shortensHomePaths { metadata.shortenHomePaths(.current) }
            return metadata
        }
    }

    /// The files of the copies, until they are packed.
    var copies: [(name: String, path: String)] {
        state.withLock(\.stores).compactMap { store in
            store.entry.map { (store.name, staging.file(ofEntry: $0)) }
        }
    }

    // MARK: When it has ended

    /// Takes what the test had to tell last: the staging directory is complete.
    func end() {
        add {}
        try? staging.markEnded()
        test.endRetention()
    }

    /// Packs what was staged; to be called once, on any thread.
    ///
    /// - Returns: The bundle's path.
    /// - Throws: Why there is none. Nothing is left then.
    func pack() throws(CaptureError) -> String {
        try withoutFileSizeSignal { () throws(CaptureError) in try packStaged() }
    }

    private func packStaged() throws(CaptureError) -> String {
        defer { directory.discard(staging) }
        noteWhatIsStillThere()
        do {
            return try publish(describe())
        } catch {
            // A disk that is too full for the stores may still take their description.
            let first = error
            let limit = (first as? LimitReached)?.limit
            let reason =
                limit == nil ? "The copies could not be packed: \(first)." : "No room was left. \(first)"
            state.withLock { state in
                if let limit { state.limitsHit.insert(limit.rawValue) }
                state.warn(
                    .contentNotPacked, reason, ["limit": limit.map { .text($0.rawValue) }])
                state.stores = state.stores.map { $0.described(because: reason) }
                state.snapshots = []
                state.attachments = []
            }
            staging.removeContent()
            do {
                return try publish(describe())
            } catch {
                state.withLock { $0.warnings.removeAll { $0.is(.contentNotPacked) } }
                let isLimit = first is LimitReached && error is LimitReached
                // What is true of every further failure is said once.
                throw CaptureError(
                    description: isLimit
                        ? "\(error)" : "The bundle of \(test.name) could not be written: \(first)",
                    isLimit: isLimit)
            }
        }
    }

    /// Looks in the bundle's content for what redactions have removed elsewhere.
    private func noteWhatIsStillThere() {
        let removed = state.withLock(\.removed)
        guard !removed.isEmpty else { return }
        let warnings = removed.warnings(about: describe(), in: staging)
        state.withLock { $0.warnings += warnings }
    }

    /// Leaves nothing: the test has passed.
    func discard() {
        directory.discard(staging)
    }

    private func publish(_ metadata: BundleMetadata) throws -> String {
        try directory.publish(
            metadata, from: staging, within: configuration.limits, date: date
        ) { warning in
            state.withLock { $0.publishingProblems.append(warning) }
        }
    }
}

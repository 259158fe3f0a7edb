internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The bundle of one test in the making.
///
/// The test either fails or is captured although it passes.
///
/// Data is staged on the test's own thread when it becomes available: copies of its stores and their descriptions.
/// After the test has ended, the staging directory is packed. This may happen on a background thread, without delaying
/// the next test. The staging directory on disk is complete after each addition. If this process dies, another process
/// can pack it.
///
/// It is a value with one owner: ``RunningTest/capture`` while the test runs, and the packing thread after that.
struct Capture: Sendable {
    let test: RunningTest
    /// The session of the test, which knows the other tests of the process.
    let session: CaptureSession
    let configuration: CaptureConfiguration
    let directory: ArtifactsDirectory
    /// The staged stores, with the redactions to apply to the bundle: all that its test had.
    var staged: StoreStaging
    var staging: StagingDirectory { staged.staging }

    var outcome = BundleMetadata.Outcome.failed
    /// True if the stores were copied for a failure.
    private(set) var hasStagedFailure = false
    /// The path of the bundle that was announced; nil if none was.
    private(set) var announcedBundle: String?
    var stores: [BundleMetadata.Store] = []
    var snapshots: [BundleMetadata.Snapshot] = []
    /// True if the last passing runs of the test are staged.
    private var hasBaseline = false
    /// The earlier occurrences of the failure; nil if none is known.
    private var seenBefore: BundleMetadata.SeenBefore?
    /// The stores that are only listed, such as those of a framework; may contain duplicates.
    var otherStores: [BundleMetadata.OtherStore] = []
    var attachments: [BundleMetadata.Attachment] = []
    var attachmentNames = UniqueNames()
    var reported = ReportedCopies()
    /// The number of warnings that were written to standard error.
    var said = 0
    /// The problems found while publishing the bundle, as full sentences; the bundle doesn't have them.
    private var problemsOfPublishing: [String] = []
    /// The indices of the warnings about the copies of a passing test.
    private var warningsOfPassing = 0..<0
    /// The metadata last written to the staging directory.
    var recorded: BundleMetadata?
    /// The time that the capture of the first failure held up the test, in seconds.
    var duration: Double?

    /// Returns the warnings not returned before, as full sentences.
    mutating func takeMessages() -> [String] {
        defer {
            said = staged.warnings.count
            problemsOfPublishing = []
        }
        return staged.warnings.dropFirst(said).map(\.text) + problemsOfPublishing
    }

    private let environment = RunEnvironment.describe(variables: ProcessEnvironment.variables)
    private let start = Instant.now
    private let date = Timestamp.now

    /// Prepares the artifacts directory and a staging directory.
    ///
    /// It throws an error if the directory can't be written to, or already holds the maximum number of bundles.
    init(
        of test: RunningTest, in session: CaptureSession
    ) throws(CaptureError) {
        self.test = test
        self.session = session
        let (configuration, output) = (session.configuration, session.output)
        self.configuration = configuration
        let room: StagingRoom
        do {
            (directory, room) = try output.use { path in
                let directory = configuration.artifactsDirectory(at: path)
                do {
                    try directory.prepare()
                    return (
                        directory, try StagingRoom(in: directory, within: configuration.limits)
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
        staged = StoreStaging(
            in: room, within: configuration.limits, obeying: configuration.redactionRules)
        let lost = test.state.withLock(\.lostCaptures)
        staged.warnings = lost.map { CaptureWarning(.earlierCaptureLost, $0) }
        // These were reported when they occurred.
        said = lost.count
    }

    // MARK: While the test runs

    /// Copies the stores as they are at the first failure.
    ///
    /// Call it on the thread of the failure.
    mutating func stageFailure(_ failure: FailureEvent) {
        hasStagedFailure = true
        if isOfPassingTest { withdrawPassing() }
        add { capture in
            capture.stageStores(after: failure)
        }
        // The process may crash before the bundle is packed. Crash recovery then makes it, with this name.
        if let bundle = try? directory.reserveName(of: test.identity, for: staging) {
            announcedBundle = bundle
            announce(bundle)
        }
    }

    func announce(_ bundle: String) {
        session.announce(
            bundle, of: test.identity, outcome, isOfPassingTest ? "passed" : "failed",
            hasStores: !stores.isEmpty)
    }

    /// Copies the stores in their current state, after a failure or when the test passes.
    mutating func stageStores(after failure: FailureEvent?) {
        let found = findStores()
        stores = stage(found, below: "stores", after: failure)
    }

    /// Copies the stores as they are at another point in time, after a failure or on the test's request.
    ///
    /// Call it on the test's thread. The label is the folder's name below `snapshots/`. It gets a number if it is
    /// already used.
    mutating func stageSnapshot(label: String, at date: Timestamp, after failure: FailureEvent?) {
        let label = test.state.withLock { state in
            state.labels.claim(SafeName.make(from: label, maximumBytes: 100))
        }
        add { capture in
            let found = capture.findStores()
            var stores = capture.stage(found, below: "snapshots/\(label)", after: failure)
            // The final copies of a passing test are removed if it fails later, so nothing may refer to them.
            if !capture.isOfPassingTest {
                for index in stores.indices { capture.shareContent(of: &stores[index]) }
            }
            capture.snapshots.append(
                BundleMetadata.Snapshot(label: label, at: date, stores: stores))
            if failure != nil { capture.reported.failureLabels.insert(label) }
        }
    }

    /// Copies the stores as they are when the process exits during the test.
    mutating func stageEnd(_ event: FailureEvent) {
        (outcome, hasStagedFailure) = (.terminated, true)
        if stores.isEmpty {
            stageFailure(event)
        } else {
            stageSnapshot(label: "terminated", at: event.date, after: event)
        }
    }

    /// Runs `body`, which adds to the staging directory, and then writes the current metadata.
    mutating func add(_ body: (inout Capture) -> Void) {
        withoutFileSizeSignal {
            obeyRules()
            body(&self)
            stageAttachments()
            record(describe())
        }
    }

    /// Adds the current redactions, and leaves out what was staged without them.
    private mutating func obeyRules() {
        var all = staged.rules
        all.add(session.configuration.redactionRules)
        if all == staged.rules { return }
        staged.rules = all
        staging.removeContent()
        recorded = nil
        staged.room.giveBack(staged.room.used)
        let reason = "It was copied before redactions were set."
        for store in stores + snapshots.flatMap(\.stores) where store.entry != nil {
            staged.warnings.append(.storeNotCopied(store.name, because: reason))
        }
        stores = stores.map { $0.described(because: reason) }
        for index in snapshots.indices {
            snapshots[index].stores = snapshots[index].stores.map { $0.described(because: reason) }
        }
        // They are staged again.
        (attachments, attachmentNames) = ([], UniqueNames())
    }

    private mutating func record(_ metadata: BundleMetadata) {
        // Unchanged, as at the end of most tests.
        if recorded == metadata { return }
        // If the metadata doesn't fit, the bundle doesn't fit either. Packing reports that.
        guard (try? staging.record(metadata)) != nil else { return }
        recorded = metadata
    }

    mutating func describe() -> BundleMetadata {
        let (events, leftOut) = test.state.withLock { ($0.failures, $0.failuresLeftOut) }
        let failures = events.map(\.metadata)
        // The test failed after it had been captured as passing.
        if !failures.isEmpty, outcome == .passed { outcome = .failed }
        let duration = self.duration ?? start.elapsed
        self.duration = duration
        var metadata = BundleMetadata(
            test: test.identity, outcome: outcome,
            fingerprint: Fingerprint.make(
                test: test.identity, outcome: outcome, first: failures.first),
            failures: failures, stores: stores,
            snapshots: snapshots.isEmpty ? nil : snapshots,
            attachments: attachments,
            environment: environment,
            capture: BundleMetadata.Capture(
                at: date, duration: duration, limitsHit: staged.limitsHit.sorted()),
            warnings: staged.warnings)
        if leftOut > 0 {
            metadata.warnings.add(
                .failuresLeftOut,
                "\(leftOut) more failures are not listed: all failures of a test may have "
                    + "\(FailureEvent.maximumTotalBytes) bytes.",
                ["failures": .number(Int64(leftOut))])
        }
        metadata.packageRoot = PackageSources.root(
            ofFailureIn: failures.lazy.compactMap(\.file).first, workingDirectory: Path.currentDirectory)
        metadata.add(otherStores)
        if hasBaseline { metadata.formatVersion = .withBaseline }
        metadata.seenBefore = seenBefore
        metadata.tests = session.state.withLock { $0.tests.numbered(staged.testNumbers) }
        if staged.rules.shortensHomePaths { metadata.shortenHomePaths(.current) }
        return metadata
    }

    // MARK: When it has ended

    /// Completes the staging directory with the last data, and releases the objects retained for the test.
    mutating func end() {
        add { _ in }
        try? staging.markEnded()
        test.endRetention()
    }

    /// Adds the earlier occurrences of the failure, and the last passing runs of the test, if they are known.
    private mutating func stageEarlierRuns() {
        guard !isOfPassingTest, staged.rules.isEmpty,
            let passing = session.state.withLock({ $0.passing })
        else { return }
        let metadata = describe()
        seenBefore = passing.noteFailure(
            of: test.identity, metadata.fingerprint, at: metadata.failures.first?.at ?? "")
        let baselines = passing.baselines(of: test.identity)
        guard !baselines.isEmpty else { return }
        let lines = Baseline.lines(of: baselines)
        guard staged.room.take(UInt64(lines.count)) else { return }
        hasBaseline =
            (try? FileSystem.write(lines, toNewFile: staging.file(ofEntry: Baseline.entry))) != nil
    }

    /// Packs the staged content, and returns the bundle's path and the text of its `README.txt`.
    ///
    /// Call it once, on any thread. The staging directory is removed in any case.
    mutating func pack() throws(CaptureError) -> (path: String, readMe: String) {
        try withoutFileSizeSignal { () throws(CaptureError) in
            stageEarlierRuns()
            return try packStaged()
        }
    }

    private mutating func packStaged() throws(CaptureError) -> (path: String, readMe: String) {
        defer { directory.discard(staging) }
        if !staged.removed.isEmpty {
            staged.warnings += staged.removed.warnings(about: describe(), in: staging)
        }
        do {
            return try publish(describe())
        } catch {
            // A disk without room for the stores may still have room for their description.
            let first = error
            let limit = (first as? LimitReached)?.limit
            let reason =
                limit == nil ? "The copies could not be packed: \(first)." : "No room was left. \(first)"
            if let limit { staged.limitsHit.insert(limit.rawValue) }
            staged.warnings.add(.contentNotPacked, reason, ["limit": limit.map { .text($0.rawValue) }])
            stores = stores.map { $0.described(because: reason) }
            snapshots = []
            attachments = []
            staging.removeContent()
            do {
                return try publish(describe())
            } catch {
                staged.warnings.removeAll { $0.is(.contentNotPacked) }
                let isLimit = first is LimitReached && error is LimitReached
                // A limit affects every further failure, so its message names no test and is reported only once.
                throw CaptureError(
                    description: isLimit
                        ? "\(error)" : "The bundle of \(test.name) could not be written: \(first)",
                    isLimit: isLimit)
            }
        }
    }

    func discard() { directory.discard(staging) }

    private mutating func publish(_ metadata: BundleMetadata) throws -> (path: String, readMe: String) {
        try directory.publish(
            metadata, from: staging, within: configuration.limits, date: date
        ) { warning in
            problemsOfPublishing.append(warning)
        }
    }
}

// The bundle of a passing test.
extension Capture {
    /// True if the bundle belongs to a test that has not failed.
    var isOfPassingTest: Bool { outcome == .passed }

    /// Copies the stores as the test leaves them; returns true if the copies are kept.
    ///
    /// If they would exceed the maximum total size, in bytes, none are kept. Call it on the test's thread.
    mutating func stagePassing(maximumBytes: UInt64) -> Bool {
        let earlierLimitsHit = staged.limitsHit
        outcome = .passed
        staged.limitsHit = []
        add { capture in
            let start = capture.staged.warnings.count
            // Only these copies are limited: a later failure may use all the remaining room.
            capture.staged.room.maximum = maximumBytes
            capture.stageStores(after: nil)
            capture.staged.room.maximum = .max
            capture.warningsOfPassing = start..<capture.staged.warnings.count
        }
        let isWhole = staged.limitsHit.isDisjoint(with: DirectoryLimits.Limit.ofRoom.map(\.rawValue))
        staged.limitsHit = isWhole ? staged.limitsHit.union(earlierLimitsHit) : earlierLimitsHit
        if !isWhole { withdrawPassing() }
        return isWhole
    }

    /// Removes the copies of a passing test, because the test failed after all or there is no room for them.
    mutating func withdrawPassing() {
        for folder in ["stores", "history", "statements", "raw"] {
            try? FileSystem.remove(staging.file(ofEntry: folder))
        }
        let left = FileSystem.size(ofAllBelow: staging.path)
        outcome = .failed
        stores = []
        said -= warningsOfPassing.clamped(to: 0..<said).count
        staged.warnings.removeSubrange(warningsOfPassing)
        warningsOfPassing = 0..<0
        staged.room.giveBack(staged.room.used.saturatingSubtract(left))
    }
}

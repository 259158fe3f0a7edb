internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// One sweep of an artifacts directory: it makes the bundles of the processes that have died.
struct Sweep {
    let recovery: CrashRecovery
    let cause: (ProcessIdentity) -> CrashRecovery.Cause
    var result = CrashRecovery.Result()
    /// The staging directories of the current recorder that are not needed once its bundles exist.
    var done: [StagingDirectory] = []

    private var directory: ArtifactsDirectory { recovery.directory }

    mutating func run() {
        trying(directory.path) { (sweep) throws(SystemError) in
            for recorder in try sweep.directory.allRecorders() {
                sweep.trying(recorder.path) { (sweep) throws(SystemError) in
                    if let recorder = try recorder.taken() { try sweep.finish(recorder) }
                }
            }
            // Skip processes that have a recorder: another sweep is making their bundles, or this one failed to.
            let recorded = Set(try sweep.directory.allRecorders().map(\.process))
            for staging in try sweep.directory.allStagingDirectories()
            where !recorded.contains(staging.process) {
                sweep.trying(staging.path) { (sweep) throws(SystemError) in
                    if let staging = try staging.taken() { try sweep.finish(staging) }
                }
            }
        }
        directory.removeIfEmpty()
    }

    /// Runs `body`, and reports its error, so that the rest is swept all the same.
    private mutating func trying(_ path: String, _ body: (inout Sweep) throws(SystemError) -> Void) {
        do throws(SystemError) {
            try body(&self)
        } catch {
            let owner = (try? FileSystem.statusWithoutFollowing(error.path))??.owner ?? geteuid()
            result.warnings.append(
                "'\(path)' could not be swept: \(error). "
                    + (owner == geteuid()
                        ? Self.leftAsItIs
                        : "'\(error.path)' belongs to the user with the ID \(owner). As that user or as root, "
                            + "sweep it or remove it."))
        }
    }

    /// The sentence that ends a warning if a later sweep may succeed.
    private static let leftAsItIs = "What is there is left for another sweep."

    /// Makes the bundles of the tests in a recorder.
    private mutating func finish(_ recorder: ProcessRecorder) throws(SystemError) {
        done = []
        var isDone = true
        let tests = try recorder.readTests()
        let statements = tests.isEmpty ? nil : try? recorder.readStatements()
        for test in tests {
            isDone =
                attempt(test.identity) {
                    try $0.make(test, among: tests.map(\.identity), statements)
                } && isDone
        }
        // After a failure, all files stay, owned by this process. The next sweep takes them over after this process
        // ends.
        guard isDone else { return }
        // The recorder goes first. If this process dies in between, the next sweep reads from the staging directories
        // which bundles exist.
        try recorder.remove()
        for staging in done { directory.discard(staging) }
    }

    /// Packs a staging directory that has no recorder.
    private mutating func finish(_ staging: StagingDirectory) throws(SystemError) {
        let content = try staging.read()
        guard var metadata = try directory.unpacked(content) else {
            return directory.discard(staging)
        }
        if !content.isEnded, metadata.failures.last?.kind != .termination {
            metadata.end(cause(staging.process))
        }
        let isDone = attempt(metadata.test) {
            try $0.pack(metadata, staging, nil, $0.recovery.redactions)
        }
        if isDone { directory.discard(staging) }
    }

    /// Calls `body`, which makes a test's bundle, and reports its error; returns false if another sweep may succeed.
    private mutating func attempt(
        _ test: BundleMetadata.Test, _ body: (inout Sweep) throws -> Void
    ) -> Bool {
        do {
            try body(&self)
            return true
        } catch let limit as LimitReached {
            directory.countFailureLeftOut()
            result.warnings.append("There is no bundle of \(test.suite).\(test.name). \(limit)")
            return true
        } catch {
            result.warnings.append(
                "The bundle of \(test.suite).\(test.name) could not be written: \(error). "
                    + Self.leftAsItIs)
            return false
        }
    }

    private mutating func make(
        _ test: InFlightTest, among running: [BundleMetadata.Test], _ statements: LoggedStatements?
    ) throws {
        let cause = self.cause(test.process).noting(test.identity, among: running)
        var rules = recovery.redactions
        rules.add(test.redactions)
        for earlier in try directory.allStagingDirectories() where earlier.process == test.process {
            let content = try earlier.read()
            guard var metadata = content.metadata, metadata.test == test.identity else { continue }
            // The test has ended; its process died before it recorded that in the recorder.
            if content.isEnded { return }
            // If another process has taken it, that one makes the bundle.
            guard let staging = try earlier.taken() else { return }
            done.append(staging)
            if try directory.bundle(of: content) != nil { return }
            var removed: RemovedValues?
            // If the test had failed before, the copies at that failure exist already, and these are further ones.
            if metadata.failures.last?.kind != .termination {
                var labels = UniqueNames(taken: (metadata.snapshots ?? []).map(\.label))
                // A test that has only asked for snapshots has no stores yet.
                let isFirst = metadata.failures.isEmpty && metadata.stores.isEmpty
                let label = isFirst ? nil : labels.claim(cause.outcome.rawValue)
                let folder = label.map { "snapshots/\($0)" } ?? "stores"
                // An earlier sweep may have died while it made these copies.
                try? FileSystem.remove(staging.file(ofEntry: folder))
                let copies = RecoveredCopies(
                    of: test, isFirst ? statements : nil,
                    in: StagingRoom(of: staging, in: directory, within: recovery.limits),
                    below: folder, limits: recovery.limits, obeying: rules)
                metadata.end(cause, with: copies, label: label)
                removed = copies.staged.removed
            }
            return try pack(metadata, staging, removed, rules)
        }
        // The test had not failed before.
        let copies = RecoveredCopies(
            of: test, statements,
            in: try StagingRoom(in: directory, of: test.process, within: recovery.limits),
            below: "stores", limits: recovery.limits, obeying: rules)
        let metadata = BundleMetadata(recovered: test, copies, cause)
        // Without metadata, a later sweep could not recognise the staging directory and its bundle.
        do throws(SystemError) {
            try copies.staged.staging.record(metadata)
        } catch {
            directory.discard(copies.staged.staging)
            throw error
        }
        done.append(copies.staged.staging)
        try pack(metadata, copies.staged.staging, copies.staged.removed, rules)
    }

    /// Packs a staging directory; without its copies if there is no room for them.
    private mutating func pack(
        _ metadata: BundleMetadata, _ staging: StagingDirectory, _ removed: RemovedValues?,
        _ rules: RedactionRules
    ) throws {
        var metadata = metadata
        metadata.warnings += removed?.warnings(about: metadata, in: staging) ?? []
        if rules.shortensHomePaths { metadata.shortenHomePaths(.current) }
        try directory.prepare()
        try metadata.leaveOutWhatIsMissing(in: staging)
        if rules.isEmpty { metadata.addEarlierRuns(to: staging) }
        do {
            try publish(metadata, staging)
        } catch let limit as LimitReached {
            staging.removeCopies()
            metadata.leaveOutContent(because: limit)
            try publish(metadata, staging)
        }
        staging.removeCopies()
    }

    private mutating func publish(_ metadata: BundleMetadata, _ staging: StagingDirectory) throws {
        let (path, _) = try directory.publish(metadata, from: staging, within: recovery.limits) {
            result.warnings.append($0)
        }
        result.bundles.append(
            CrashRecovery.Recovered(
                path: path, test: metadata.test, outcome: metadata.outcome,
                hasStores: !metadata.stores.isEmpty,
                isInterrupted: metadata.failures.last?.kind == .termination))
    }
}

// The changes to the metadata of a test whose process made no bundle.
extension BundleMetadata {
    /// Describes the content without its entries, and adds a warning, because a limit is reached.
    mutating func leaveOutContent(because limit: LimitReached) {
        let reason = "No room was left. \(limit)"
        warnings.add(.contentNotPacked, reason, ["limit": .text(limit.limit.rawValue)])
        capture.limitsHit = Set(capture.limitsHit + [limit.limit.rawValue]).sorted()
        stores = stores.map { $0.described(because: reason) }
        snapshots = nil
        attachments = []
    }

    /// Adds the earlier occurrences of the failure, and stages the last passing runs of the test, if they are known.
    mutating func addEarlierRuns(to staging: StagingDirectory) {
        guard outcome != .passed, let images = staging.images,
            let directory = BaselineDirectory.ofCommand(
                workingDirectory: images.workingDirectory, variables: ProcessEnvironment.variables)
        else { return }
        // Another commit may be checked out since.
        let isCurrent = images.images.first?.isUnchanged == true
        seenBefore = directory.noteFailure(
            of: test, fingerprint, at: failures.first?.at ?? capture.at, in: images,
            commit: isCurrent ? CheckedOutCommit.current(in: images.workingDirectory) : nil)
        let baselines = directory.baselines(of: test, in: images)
        guard !baselines.isEmpty else { return }
        let path = staging.file(ofEntry: Baseline.entry)
        try? FileSystem.remove(path)
        guard (try? FileSystem.write(Baseline.lines(of: baselines), toNewFile: path)) != nil else {
            return
        }
        formatVersion = .withBaseline
    }

    /// Leaves out the entries that a staging directory lacks, and adds a warning.
    ///
    /// Without this, no sweep could make the bundle.
    mutating func leaveOutWhatIsMissing(in staging: StagingDirectory) throws(SystemError) {
        var missing: Set<String> = []
        for entry in entries where try FileSystem.status(of: staging.file(ofEntry: entry)) == nil {
            missing.insert(entry)
        }
        guard !missing.isEmpty else { return }
        warnings.add(
            .contentMissing, "What was captured was gone when the bundle was made: \(missing.sorted()).")
        for index in stores.indices { stores[index].leaveOut(missing) }
        for index in snapshots?.indices ?? 0..<0 {
            for store in snapshots?[index].stores.indices ?? 0..<0 {
                snapshots?[index].stores[store].leaveOut(missing)
            }
        }
        for index in attachments.indices where missing.contains(attachments[index].entry ?? "") {
            attachments[index].entry = nil
        }
    }

    /// Creates the metadata of a test that left only its recorder.
    init(
        recovered test: InFlightTest, _ copies: RecoveredCopies, _ cause: CrashRecovery.Cause
    ) {
        var environment = test.environment ?? RunEnvironment.describe(variables: [:])
        environment.processID = Int(test.process.number)
        self.init(
            test: test.identity, outcome: cause.outcome, fingerprint: "", failures: [],
            stores: copies.stores, attachments: [], environment: environment,
            capture: Capture(at: .now, duration: 0, limitsHit: copies.staged.limitsHit.sorted()),
            warnings: copies.staged.warnings)
        tests = copies.tests
        packageRoot = PackageSources.root(
            ofFailureIn: cause.file,
            workingDirectory: test.images.flatMap { LoadedImages(json: Array($0.utf8)) }?
                .workingDirectory
                ?? "")
        end(cause)
    }

    /// Records that the test did not end.
    mutating func end(_ cause: CrashRecovery.Cause) {
        outcome = cause.outcome
        failures.append(
            Failure(
                message: cause.message, file: cause.file, line: cause.line, kind: .termination,
                at: .now))
        fingerprint = Fingerprint.make(test: self.test, outcome: outcome, first: failures.first)
        // Other runs of the same crash may have other tests at the same time.
        if let note = cause.note { failures[failures.count - 1].message += "\n" + note }
        failures[failures.count - 1].suspects = cause.suspects
    }

    /// Records that a test did not end, and adds the final copies of its stores, as a snapshot if there is a label.
    mutating func end(
        _ cause: CrashRecovery.Cause, with copies: RecoveredCopies, label: String?
    ) {
        end(cause)
        if let label {
            snapshots =
                (snapshots ?? []) + [Snapshot(label: label, at: .now, stores: copies.stores)]
        } else {
            stores = copies.stores
            tests = copies.tests
        }
        warnings += copies.staged.warnings
    }
}

extension BundleMetadata.Store {
    fileprivate mutating func leaveOut(_ missing: Set<String>) {
        if missing.contains(statements?.entry ?? "") { statements = nil }
        if !missing.isDisjoint(with: stagedEntries) { self = described(because: "The copy was gone.") }
    }
}

internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

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

    /// Creates the metadata of a test that left only its journal.
    init(
        recovered test: InFlightTest, _ copies: RecoveredCopies, _ cause: CrashRecovery.Cause
    ) {
        var environment = test.environment ?? RunEnvironment.describe(variables: [:])
        environment.processID = Int(test.process.number)
        self.init(
            test: test.identity, outcome: cause.outcome, fingerprint: "", failures: [],
            stores: copies.stores, attachments: [], environment: environment,
            capture: Capture(at: .now, duration: 0, limitsHit: copies.limitsHit.sorted()),
            warnings: copies.warnings)
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
        warnings += copies.warnings
    }
}

extension BundleMetadata.Store {
    fileprivate mutating func leaveOut(_ missing: Set<String>) {
        if missing.contains(statements?.entry ?? "") { statements = nil }
        if !missing.isDisjoint(with: stagedEntries) { self = described(because: "The copy was gone.") }
    }
}

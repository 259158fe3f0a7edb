package import FailureArtifactsSQLite
package import FailureArtifactsSystem

/// Makes the bundles that processes could not make themselves: of tests that were running when their process
/// died, and of failures whose bundle was not packed yet.
///
/// It works from outside, on what the processes have left in the hidden directory and on the files of their
/// stores; the originals stay as they are, and a journal is recovered on the copy. Several may be at it at the
/// same time, and each bundle is made once.
package struct CrashRecovery: Sendable {
    /// Why a test has not ended.
    package struct Cause: Sendable {
        package var outcome: BundleMetadata.Outcome
        /// What is known of it, as sentences.
        package var message: String
        /// The source file where it happened; nil where that is not known.
        package var file: String?
        /// Counts from 1.
        package var line: Int?

        package init(outcome: BundleMetadata.Outcome, message: String) {
            self.outcome = outcome
            self.message = message
        }

        /// All that is known where nobody has watched.
        package static let unknown = Cause(
            outcome: .crashed, message: "The process ended in the middle of the test.")
    }

    /// What came of it.
    package struct Result: Sendable {
        /// The new bundles' paths.
        package var bundles: [String] = []
        /// Full sentences on what could not be made.
        package var warnings: [String] = []

        package init() {}
    }

    let directory: ArtifactsDirectory
    let limits: DirectoryLimits
    /// What must not get into the bundles, besides what the journals name.
    let redactions: RedactionRules

    package init(
        of directory: ArtifactsDirectory, limits: DirectoryLimits,
        redactions: RedactionRules = RedactionRules()
    ) {
        self.directory = directory
        self.limits = limits
        self.redactions = redactions
    }

    private func rules(of test: InFlightTest) -> RedactionRules {
        var rules = redactions
        rules.add(test.redactions)
        return rules
    }

    // MARK: Tests that hang

    /// The copies of the stores of a test that was still running.
    package struct Held: Sendable {
        let test: InFlightTest
        let copies: RecoveredCopies
        let cause: Cause
    }

    /// Copies the stores of tests that are still running, to become bundles with the next ``sweep(holding:cause:)``
    /// when the processes have been ended.
    ///
    /// - Parameters:
    ///   - processes: The processes.
    ///   - cause: Why their tests will not end.
    /// - Returns: The copies. They are lost if nobody sweeps before this process ends.
    package func hold(_ processes: Set<ProcessIdentity>, cause: Cause) -> [Held] {
        directory.journals.filter { processes.contains($0.process) }.flatMap { journal in
            journal.tests.compactMap { test in
                guard
                    let room = try? StagingReservation(in: directory, of: test.process, within: limits)
                else { return nil }
                let copies = RecoveredCopies(
                    of: test, in: room, below: "stores", limits: limits, obeying: rules(of: test))
                return Held(test: test, copies: copies, cause: cause)
            }
        }
    }

    // MARK: Processes that have died

    /// The processes that have died in the middle of a test, as long as no bundle is made of it.
    package var deadProcesses: Set<ProcessIdentity> {
        let journals = directory.journals.filter { !$0.tests.isEmpty }.map(\.process)
        let stagingDirectories = directory.stagingDirectories.filter { !$0.isEnded }.map(\.process)
        return Set(journals + stagingDirectories).filter { !$0.isAlive }
    }

    /// Makes the bundles of all processes that have died; what living ones have in the making is left alone.
    ///
    /// - Parameters:
    ///   - held: What was copied while a process still lived.
    ///   - cause: Why the tests of a process have not ended.
    /// - Returns: What came of it.
    package func sweep(
        holding held: [Held] = [], cause: (ProcessIdentity) -> Cause = { _ in .unknown }
    ) -> Result {
        var result = Result()
        var held = held
        var hasSwept = !held.isEmpty
        do throws(SystemError) {
            for journal in try directory.allJournals() where !journal.process.isAlive {
                guard let journal = try journal.taken() else { continue }
                hasSwept = true
                try finish(journal, &held, cause, &result)
            }
            // Their processes have ended the tests after all, or live on.
            for held in held { directory.discard(held.copies.staging) }
            // Of those that have a journal, somebody else is making the bundles; or nobody could, this time.
            let journaled = Set(try directory.allJournals().map(\.process))
            for staging in try directory.allStagingDirectories()
            where staging.isAbandoned && !journaled.contains(staging.process) {
                guard let staging = try taken(staging) else { continue }
                hasSwept = true
                finish(staging, cause, &result)
            }
        } catch {
            result.warnings.append(
                "'\(directory.path)' could not be swept: \(error). \(Self.leftAsItIs)")
        }
        // What their processes did not come to count.
        if hasSwept { directory.recount() }
        directory.removeIfEmpty()
        return result
    }

    /// What is said where the next sweep can do what this one could not.
    private static let leftAsItIs = "What is there is left for another sweep."

    /// A staging directory in the hands of this process; nil where somebody else has it.
    private func taken(_ staging: StagingDirectory) throws(SystemError) -> StagingDirectory? {
        do throws(SystemError) {
            return try staging.taken()
        } catch {
            guard error.isNotFound else { throw error }
            return nil
        }
    }

    /// Makes the bundles of the tests that a journal tells of.
    private func finish(
        _ journal: Journal, _ held: inout [Held], _ cause: (ProcessIdentity) -> Cause,
        _ result: inout Result
    ) throws(SystemError) {
        var stagingDirectories: [StagingDirectory] = []
        var isDone = true
        for test in try journal.readTests() {
            let index = held.firstIndex { $0.test.process == test.process && $0.test.id == test.id }
            let copies = index.map { held.remove(at: $0) }
            do {
                let staging = try make(
                    test, copies, copies?.cause ?? cause(test.process), &isDone, &result)
                if let staging { stagingDirectories.append(staging) }
            } catch let limit as LimitReached {
                result.warnings.append(
                    "There is no bundle of \(test.identity.suite).\(test.identity.name). \(limit)")
                directory.countFailureLeftOut()
            } catch {
                isDone = false
                result.warnings.append(
                    "No bundle of \(test.identity.suite).\(test.identity.name): \(error). "
                        + Self.leftAsItIs)
            }
        }
        // Where something failed, all is left as it is, in the hands of this process: when that has ended, it is
        // for the next sweep.
        guard isDone else { return }
        // In this order: whoever finds the journal because this process has died sees by the staging directories which
        // bundles are there.
        try journal.remove()
        for staging in stagingDirectories { directory.discard(staging) }
    }

    /// Makes the bundle of a test that was in flight.
    ///
    /// - Returns: What is left of it, to be discarded with the journal; nil where there is nothing to do.
    /// - Throws: A `SystemError`, the failure to look, before anything was done; or ``LimitReached``.
    private func make(
        _ test: InFlightTest, _ held: Held?, _ cause: Cause, _ isDone: inout Bool,
        _ result: inout Result
    ) throws -> StagingDirectory? {
        for earlier in try directory.allStagingDirectories() where earlier.process == test.process {
            let content = try earlier.read()
            guard var metadata = content.metadata, metadata.test == test.identity else { continue }
            // It has ended, and its process died before it said so in the journal.
            if content.isEnded { return nil }
            let staging = try earlier.taken()
            if try directory.bundle(of: content) == nil {
                var removed: RemovedValues?
                // It had failed before: the stores are there as they were at the failure.
                if metadata.failures.last?.kind != .termination {
                    var labels = UniqueNames(taken: (metadata.snapshots ?? []).map(\.label))
                    let label = labels.claim(cause.outcome.rawValue)
                    let copies = finalCopies(of: test, held, below: "snapshots/\(label)", in: staging)
                    metadata.end(cause, with: copies, label: label)
                    removed = copies.removed
                }
                isDone = pack(metadata, staging, removed, rules(of: test), &result) && isDone
            }
            return staging
        }
        return try makeAnew(test, held, cause, &isDone, &result)
    }

    /// Makes the bundle of a test that had not failed before.
    private func makeAnew(
        _ test: InFlightTest, _ held: Held?, _ cause: Cause, _ isDone: inout Bool,
        _ result: inout Result
    ) throws -> StagingDirectory {
        let rules = rules(of: test)
        let copies =
            try held?.copies
            ?? RecoveredCopies(
                of: test, in: StagingReservation(in: directory, of: test.process, within: limits),
                below: "stores", limits: limits, obeying: rules)
        let staging = copies.staging
        let metadata = BundleMetadata(recovered: test, copies, cause)
        // Without it nobody would know the staging directory again, and what bundle was made of it.
        do throws(SystemError) {
            try staging.record(metadata)
        } catch {
            if held == nil { directory.discard(staging) }
            throw error
        }
        isDone = pack(metadata, staging, copies.removed, rules, &result) && isDone
        return staging
    }

    /// The stores of a test that had failed before, as they were when its process ended.
    private func finalCopies(
        of test: InFlightTest, _ held: Held?, below folder: String, in staging: StagingDirectory
    ) -> RecoveredCopies {
        // Where somebody before this process has died over it.
        try? FileSystem.remove(staging.file(ofEntry: folder))
        let room = StagingReservation(of: staging, in: directory, within: limits)
        if let held {
            let copies = held.copies.moved(to: room, below: folder)
            directory.discard(held.copies.staging)
            return copies
        }
        return RecoveredCopies(
            of: test, in: room, below: folder, limits: limits, obeying: rules(of: test))
    }

    /// Packs a staging directory that a process has left and no journal tells of.
    private func finish(
        _ staging: StagingDirectory, _ cause: (ProcessIdentity) -> Cause, _ result: inout Result
    ) {
        do throws(SystemError) {
            let content = try staging.read()
            // Its bundle was there already, or nothing of it is known but some copies.
            guard try directory.bundle(of: content) == nil, var metadata = content.metadata,
                // A test that has only asked for snapshots has not failed.
                metadata.outcome == .passed || !(metadata.failures.isEmpty && content.isEnded)
            else { return directory.discard(staging) }
            if !content.isEnded, metadata.failures.last?.kind != .termination {
                metadata.end(cause(staging.process))
            }
            if pack(metadata, staging, nil, redactions, &result) { directory.discard(staging) }
        } catch {
            result.warnings.append("'\(staging.path)' could not be swept: \(error). \(Self.leftAsItIs)")
        }
    }

    /// Packs a staging directory.
    ///
    /// - Returns: Whether the staging directory is of no more use; false where another sweep may do better.
    private func pack(
        _ metadata: BundleMetadata, _ staging: StagingDirectory, _ removed: RemovedValues?,
        _ rules: RedactionRules,
        _ result: inout Result
    ) -> Bool {
        var metadata = metadata
        metadata.warnings += removed?.warnings(about: metadata, in: staging) ?? []
        if rules.shortensHomePaths { metadata.shortenHomePaths(.current) }
        do {
            try directory.prepare()
            try metadata.leaveOutWhatIsMissing(in: staging)
            result.bundles.append(try publish(metadata, staging, &result))
            staging.removeCopies()
            return true
        } catch let limit as LimitReached {
            result.warnings.append(
                "There is no bundle of \(metadata.test.suite).\(metadata.test.name). \(limit)")
            staging.removeCopies()
            return true
        } catch {
            result.warnings.append(
                "The bundle of \(metadata.test.suite).\(metadata.test.name) could not be written: \(error). "
                    + Self.leftAsItIs)
            return false
        }
    }

    /// Packs a staging directory; where there is no room for its copies, without them.
    private func publish(
        _ metadata: BundleMetadata, _ staging: StagingDirectory, _ result: inout Result
    ) throws -> String {
        do {
            return try directory.publish(metadata, from: staging, within: limits) {
                result.warnings.append($0)
            }
        } catch let error as LimitReached {
            staging.removeCopies()
            var metadata = metadata
            let reason = "No room was left. \(error)"
            metadata.warnings.append(
                CaptureWarning(.contentNotPacked, reason, ["limit": .text(error.limit.rawValue)]))
            metadata.capture.limitsHit = Set(metadata.capture.limitsHit + [error.limit.rawValue])
                .sorted()
            metadata.stores = metadata.stores.map { $0.described(because: reason) }
            metadata.snapshots = nil
            metadata.attachments = []
            do {
                return try directory.publish(metadata, from: staging, within: limits) {
                    result.warnings.append($0)
                }
            } catch let error as LimitReached {
                directory.countFailureLeftOut()
                throw error
            }
        }
    }
}

extension BundleMetadata {
    /// Says of the entries that a staging directory lacks that they are gone; without them no sweep could make the bundle.
    ///
    /// - Throws: The failure to look.
    fileprivate mutating func leaveOutWhatIsMissing(in staging: StagingDirectory) throws(SystemError) {
        var missing: Set<String> = []
        for entry in entries where try FileSystem.status(of: staging.file(ofEntry: entry)) == nil {
            missing.insert(entry)
        }
        guard !missing.isEmpty else { return }
        warnings.append(
            CaptureWarning(
                .contentMissing,
                "What was captured was gone when the bundle was made: \(missing.sorted())."))
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
}

extension BundleMetadata.Store {
    fileprivate mutating func leaveOut(_ missing: Set<String>) {
        if missing.contains(statements?.entry ?? "") { statements = nil }
        if !missing.isDisjoint(with: stagedEntries) { self = described(because: "The copy was gone.") }
    }
}

extension BundleMetadata {
    /// Describes a test of which nothing but its journal is left.
    fileprivate init(
        recovered test: InFlightTest, _ copies: RecoveredCopies, _ cause: CrashRecovery.Cause
    ) {
        var environment = test.environment ?? RunEnvironment.describe(variables: [:])
        environment.processID = Int(test.process.number)
        self.init(
            test: test.identity, outcome: cause.outcome, fingerprint: "", failures: [],
            stores: copies.stores, attachments: [], environment: environment,
            capture: Capture(at: .now, duration: 0, limitsHit: copies.limitsHit.sorted()),
            warnings: copies.warnings)
        end(cause)
    }

    /// Adds that the test did not end.
    fileprivate mutating func end(_ cause: CrashRecovery.Cause) {
        outcome = cause.outcome
        failures.append(
            Failure(
                message: cause.message, file: cause.file, line: cause.line, kind: .termination,
                at: .now))
        fingerprint = Fingerprint.make(test: self.test, outcome: outcome, first: failures.first)
    }

    /// Adds that the test, which had failed, did not end, and its stores as they were then.
    fileprivate mutating func end(
        _ cause: CrashRecovery.Cause, with copies: RecoveredCopies, label: String
    ) {
        end(cause)
        snapshots =
            (snapshots ?? [])
            + [Snapshot(label: label, at: .now, stores: copies.stores)]
        warnings += copies.warnings
    }
}

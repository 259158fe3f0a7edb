package import FailureArtifactsSQLite
package import FailureArtifactsSystem

/// Makes the bundles that processes could not make themselves.
///
/// These are bundles of tests that were running when their process died, and of failures that were not packed yet.
/// Recovery works from outside, on the files in the hidden directory and on the store files. It doesn't change the
/// original stores: it recovers a store's journal on the copy. Several processes may recover at the same time; each
/// bundle is made once.
package struct CrashRecovery: Sendable {
    /// The reason why a test has not ended.
    package struct Cause: Sendable {
        package var outcome: BundleMetadata.Outcome
        /// The known facts, as full sentences.
        package var message: String
        /// The source file where it happened; nil if unknown.
        package var file: String?
        /// The line in that file, counted from 1; nil if unknown.
        package var line: Int?

        package init(outcome: BundleMetadata.Outcome, message: String) {
            self.outcome = outcome
            self.message = message
        }

        /// The cause if no process observed the end.
        package static let unknown = Cause(
            outcome: .crashed, message: "The process ended in the middle of the test.")
    }

    /// The result of a recovery.
    package struct Result: Sendable {
        /// The paths of the new bundles.
        package var bundles: [String] = []
        /// Problems, as full sentences.
        package var warnings: [String] = []

        package init() {}
    }

    let directory: ArtifactsDirectory
    let limits: DirectoryLimits
    /// Redaction rules, in addition to those in the journals.
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

    /// Copies the stores of tests that are still running.
    ///
    /// After the processes have been ended, the next ``sweep(holding:cause:)`` makes bundles of the copies.
    ///
    /// - Parameters:
    ///   - processes: The processes.
    ///   - cause: The reason why their tests will not end.
    /// - Returns: The copies. They are lost if this process ends before a sweep.
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

    /// The dead processes that left an unfinished test in a journal or in a staging directory.
    package var deadProcesses: Set<ProcessIdentity> {
        let journals = directory.journals.filter { !$0.tests.isEmpty }.map(\.process)
        let stagingDirectories = directory.stagingDirectories.filter { !$0.isEnded }.map(\.process)
        return Set(journals + stagingDirectories).filter { !$0.isAlive }
    }

    /// Makes the bundles of all processes that have died.
    ///
    /// The files of living processes are left alone.
    ///
    /// - Parameters:
    ///   - held: The copies that were made while a process was still alive.
    ///   - cause: A closure that returns the reason why the tests of a process have not ended.
    /// - Returns: The new bundles and the problems.
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
            // The processes of these copies ended their tests after all, or are still alive.
            for held in held { directory.discard(held.copies.staging) }
            // Skip processes that have a journal: another sweep is making their bundles, or this one failed to.
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
        // The dead processes may not have counted their bundles.
        if hasSwept { directory.recount() }
        directory.removeIfEmpty()
        return result
    }

    /// The sentence that ends a warning if a later sweep may succeed.
    private static let leftAsItIs = "What is there is left for another sweep."

    /// Takes over a staging directory; returns nil if another process already has it.
    private func taken(_ staging: StagingDirectory) throws(SystemError) -> StagingDirectory? {
        do throws(SystemError) {
            return try staging.taken()
        } catch {
            guard error.isNotFound else { throw error }
            return nil
        }
    }

    /// Makes the bundles of the tests in a journal.
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
        // After a failure, all files stay, owned by this process. The next sweep takes them over after this process
        // ends.
        guard isDone else { return }
        // The journal goes first. If this process dies in between, the next sweep reads from the staging directories
        // which bundles exist.
        try journal.remove()
        for staging in stagingDirectories { directory.discard(staging) }
    }

    /// Makes the bundle of a test that was in flight.
    ///
    /// - Returns: The test's staging directory, to be discarded with the journal; nil if there is nothing to do.
    /// - Throws: A `SystemError` if the staging directories can't be read or written, or ``LimitReached``.
    private func make(
        _ test: InFlightTest, _ held: Held?, _ cause: Cause, _ isDone: inout Bool,
        _ result: inout Result
    ) throws -> StagingDirectory? {
        for earlier in try directory.allStagingDirectories() where earlier.process == test.process {
            let content = try earlier.read()
            guard var metadata = content.metadata, metadata.test == test.identity else { continue }
            // The test has ended; its process died before it recorded that in the journal.
            if content.isEnded { return nil }
            let staging = try earlier.taken()
            if try directory.bundle(of: content) == nil {
                var removed: RemovedValues?
                // If the test had failed before, the copies at that failure exist already.
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
        // Without metadata, a later sweep could not recognise the staging directory and its bundle.
        do throws(SystemError) {
            try staging.record(metadata)
        } catch {
            if held == nil { directory.discard(staging) }
            throw error
        }
        isDone = pack(metadata, staging, copies.removed, rules, &result) && isDone
        return staging
    }

    /// Copies the stores of a test that had failed before, as they were when its process ended.
    private func finalCopies(
        of test: InFlightTest, _ held: Held?, below folder: String, in staging: StagingDirectory
    ) -> RecoveredCopies {
        // An earlier sweep may have died while it made these copies.
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

    /// Packs a staging directory that has no journal.
    private func finish(
        _ staging: StagingDirectory, _ cause: (ProcessIdentity) -> Cause, _ result: inout Result
    ) {
        do throws(SystemError) {
            let content = try staging.read()
            // Discard it if its bundle exists already, or if there are only copies without metadata.
            guard try directory.bundle(of: content) == nil, var metadata = content.metadata,
                // A test that ended without a failure, and only asked for snapshots, gets no bundle.
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
    /// - Returns: True if the staging directory is no longer needed; false if another sweep may succeed.
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

    /// Packs a staging directory; without its copies if there is no room for them.
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
    /// Leaves out the entries that a staging directory lacks, and adds a warning.
    ///
    /// Without this, no sweep could make the bundle.
    ///
    /// - Throws: An error if the staging directory can't be examined.
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
    /// Creates the metadata of a test that left only its journal.
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

    /// Records that the test did not end.
    fileprivate mutating func end(_ cause: CrashRecovery.Cause) {
        outcome = cause.outcome
        failures.append(
            Failure(
                message: cause.message, file: cause.file, line: cause.line, kind: .termination,
                at: .now))
        fingerprint = Fingerprint.make(test: self.test, outcome: outcome, first: failures.first)
    }

    /// Records that a test that had failed before did not end, and adds the final copies of its stores.
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

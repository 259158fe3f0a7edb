package import FailureArtifactsSQLite
package import FailureArtifactsSystem

/// Makes the bundles that processes could not make themselves: of tests that were running when their process
/// died, and of failures whose bundle was not packed yet.
///
/// It works from outside, on what the processes have left in the hidden directory and on the files of their
/// stores; the originals stay as they are, and a journal is recovered on the copy. Several may be at it at the
/// same time, and each bundle is made once.
package struct Salvage: Sendable {
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
    /// Whether stores are left out that earlier bundles hold.
    let isSharing: Bool

    package init(
        of directory: ArtifactsDirectory, limits: DirectoryLimits,
        redactions: RedactionRules = RedactionRules(), sharing isSharing: Bool = false
    ) {
        self.directory = directory
        self.limits = limits
        self.isSharing = isSharing
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
        let copies: SalvagedCopies
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
                    let room = try? SpoolRoom(in: directory, of: test.process, within: limits)
                else { return nil }
                let copies = SalvagedCopies(
                    of: test, in: room, below: "stores", limits: limits, obeying: rules(of: test))
                return Held(test: test, copies: copies, cause: cause)
            }
        }
    }

    // MARK: Processes that have died

    /// The tests in whose middle a process has died, as long as no bundle is made of them.
    package var deadTests: [InFlightTest] {
        directory.journals.filter { !$0.process.isAlive }.flatMap(\.tests)
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
        for journal in directory.journals where !journal.process.isAlive {
            guard let journal = journal.taken() else { continue }
            hasSwept = true
            var spools: [Spool] = []
            for test in journal.tests {
                let index = held.firstIndex { $0.test.process == test.process && $0.test.id == test.id }
                let copies = index.map { held.remove(at: $0) }
                if let spool = make(test, copies, copies?.cause ?? cause(test.process), &result) {
                    spools.append(spool)
                }
            }
            // In this order: whoever finds the journal because this process has died sees by the spools which
            // bundles are there.
            journal.remove()
            for spool in spools { directory.discard(spool) }
        }
        // Their processes have ended the tests after all, or live on.
        for held in held { directory.discard(held.copies.spool) }
        // Of those that have a journal, somebody else is making the bundles.
        let journaled = Set(directory.journals.map(\.process))
        for spool in directory.spools where spool.isAbandoned && !journaled.contains(spool.process) {
            guard let spool = try? directory.take(spool) else { continue }
            hasSwept = true
            finish(spool, cause, &result)
        }
        // What their processes did not come to count.
        if hasSwept { directory.recount() }
        directory.removeIfEmpty()
        return result
    }

    /// Makes the bundle of a test that was in flight.
    ///
    /// - Returns: What is left of it, to be discarded with the journal; nil where there is nothing to do.
    private func make(
        _ test: InFlightTest, _ held: Held?, _ cause: Cause, _ result: inout Result
    ) -> Spool? {
        do {
            guard let earlier = directory.spools.first(where: { $0.isOf(test) }) else {
                return try makeAnew(test, held, cause, &result)
            }
            // It has ended, and its process died before it said so in the journal.
            if earlier.isEnded { return nil }
            let spool = try directory.take(earlier)
            if var metadata = spool.metadata, directory.bundle(of: spool) == nil {
                var removed: RemovedValues?
                // It had failed before: the stores are there as they were at the failure.
                if metadata.failures.last?.kind != .termination {
                    let copies = finalCopies(of: test, held, cause, in: spool)
                    metadata.end(cause, with: copies)
                    removed = copies.removed
                }
                pack(metadata, spool, removed, rules(of: test), &result)
            }
            return spool
        } catch {
            result.warnings.append(
                "No bundle of \(test.identity.suite).\(test.identity.name): \(error)"
                    + (error is LimitReached ? "" : "."))
            if error is LimitReached { directory.countFailureLeftOut() }
            return nil
        }
    }

    /// Makes the bundle of a test that had not failed before.
    private func makeAnew(
        _ test: InFlightTest, _ held: Held?, _ cause: Cause, _ result: inout Result
    ) throws -> Spool {
        let rules = rules(of: test)
        let copies =
            try held?.copies
            ?? SalvagedCopies(
                of: test, in: SpoolRoom(in: directory, of: test.process, within: limits),
                below: "stores", limits: limits, obeying: rules)
        let spool = copies.spool
        let metadata = BundleMetadata(salvaged: test, copies, cause)
        // On a full disk there will be no bundle either, which is said then.
        try? spool.record(metadata)
        pack(metadata, spool, copies.removed, rules, &result)
        return spool
    }

    /// The stores of a test that had failed before, as they were when its process ended.
    private func finalCopies(
        of test: InFlightTest, _ held: Held?, _ cause: Cause, in spool: Spool
    ) -> SalvagedCopies {
        let folder = "snapshots/\(cause.outcome.rawValue)"
        // Where somebody before this process has died over it.
        try? FileSystem.remove(spool.file(ofEntry: folder))
        let room = SpoolRoom(of: spool, in: directory, within: limits)
        if let held {
            let copies = held.copies.moved(to: room, below: folder)
            directory.discard(held.copies.spool)
            return copies
        }
        return SalvagedCopies(
            of: test, in: room, below: folder, limits: limits, obeying: rules(of: test))
    }

    /// Packs a spool that a process has left and no journal tells of.
    private func finish(
        _ spool: Spool, _ cause: (ProcessIdentity) -> Cause, _ result: inout Result
    ) {
        defer { directory.discard(spool) }
        // Its bundle was there already, or nothing of it is known but some copies.
        guard directory.bundle(of: spool) == nil, var metadata = spool.metadata,
            // A test that has only asked for snapshots has not failed.
            !(metadata.failures.isEmpty && spool.isEnded)
        else { return }
        if !spool.isEnded, metadata.failures.last?.kind != .termination {
            metadata.end(cause(spool.process))
        }
        pack(metadata, spool, nil, redactions, &result)
    }

    private func pack(
        _ metadata: BundleMetadata, _ spool: Spool, _ removed: RemovedValues?, _ rules: RedactionRules,
        _ result: inout Result
    ) {
        defer { spool.removeCopies() }
        var metadata = metadata
        metadata.warnings += removed?.warnings(about: metadata, in: spool) ?? []
        if rules.shortensHomePaths { metadata.shortenHomePaths(.current) }
        do {
            try directory.prepare()
            result.bundles.append(try publish(metadata, spool))
        } catch {
            result.warnings.append(
                "The bundle of \(metadata.test.suite).\(metadata.test.name) could not be written: \(error)"
            )
        }
    }

    /// Packs a spool; where there is no room for its copies, without them.
    private func publish(_ metadata: BundleMetadata, _ spool: Spool) throws -> String {
        do {
            return try directory.publish(metadata, from: spool, within: limits, sharing: isSharing)
        } catch let error as LimitReached {
            spool.removeCopies()
            var metadata = metadata
            let reason = "No room was left. \(error)"
            metadata.warnings.append(reason)
            metadata.capture.limitsHit = Set(metadata.capture.limitsHit + [error.limit.rawValue])
                .sorted()
            metadata.stores = metadata.stores.map { $0.described(because: reason) }
            metadata.snapshots = nil
            metadata.attachments = []
            do {
                return try directory.publish(metadata, from: spool, within: limits, sharing: false)
            } catch {
                directory.countFailureLeftOut()
                throw error
            }
        }
    }
}

extension Spool {
    /// Whether it is the capture of a test.
    fileprivate func isOf(_ test: InFlightTest) -> Bool {
        process == test.process && metadata?.test == test.identity
    }
}

extension BundleMetadata {
    /// Describes a test of which nothing but its journal is left.
    fileprivate init(salvaged test: InFlightTest, _ copies: SalvagedCopies, _ cause: Salvage.Cause) {
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
    fileprivate mutating func end(_ cause: Salvage.Cause) {
        outcome = cause.outcome
        failures.append(
            Failure(
                message: cause.message, file: cause.file, line: cause.line, kind: .termination,
                at: .now))
        fingerprint = Fingerprint.make(test: self.test, outcome: outcome, first: failures.first)
    }

    /// Adds that the test, which had failed, did not end, and its stores as they were then.
    fileprivate mutating func end(_ cause: Salvage.Cause, with copies: SalvagedCopies) {
        end(cause)
        snapshots =
            (snapshots ?? [])
            + [Snapshot(label: cause.outcome.rawValue, at: .now, stores: copies.stores)]
        warnings += copies.warnings
    }
}

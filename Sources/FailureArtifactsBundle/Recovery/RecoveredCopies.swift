internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Copies of a test's stores that another process made.
struct RecoveredCopies: Sendable {
    var staging: StagingDirectory { room.staging }
    private var room: StagingReservation
    private(set) var stores: [BundleMetadata.Store] = []
    private(set) var warnings: [CaptureWarning] = []
    private(set) var limitsHit: Set<String> = []
    /// The tests that ran the recorded statements, as far as the journal lists them; nil if it lists none.
    private(set) var tests: [BundleMetadata.NumberedTest]?
    /// Some of the values that redactions removed from the copies.
    private(set) var removed = RemovedValues()
    private let folder: String
    private var testNumbers: Set<JournalRecord.TestID> = []

    /// Copies the stores that a journal lists, to the staging directory of a reservation.
    ///
    /// Their entries in the bundle are below `folder`. The statements are nil if they can't be read.
    init(
        of test: InFlightTest, _ statements: RecordedStatements?, in room: StagingReservation,
        below folder: String, limits: DirectoryLimits, obeying rules: RedactionRules
    ) {
        self.room = room
        self.folder = folder
        var names = StoreNames()
        // The process's log stays in memory if there are rules. If they were added later, it isn't used.
        let isUsable = folder == "stores" && test.redactions.isEmpty && !rules.concernStores
        let statements = isUsable ? statements : nil
        // The journal doesn't tell whether an earlier test opened a shared store, so databases of frameworks are copied, too.
        for path in test.paths {
            let name = names.claim(Path.stem(of: Path.name(of: path.path)))
            let identity = try? FileSystem.status(of: path.path)?.identity
            let states = statements?.states.first { $0.file != nil && $0.file == identity }
            var commits: [RecordedStates.Commit] = []
            stores.append(
                copy(path, of: test.process.number, named: name, limits, rules, states, &commits))
            if let statements {
                stage(
                    statements.log(of: path.path, testStartedAfter: test.order), commits,
                    images: test.images, rules)
            }
        }
        defer {
            tests = statements?.tests.filter { testNumbers.contains($0.id) }
            if tests?.isEmpty == true { tests = nil }
        }
        guard test.hasMemoryStores else { return }
        let inMemory = statements?.storesInMemory(testStartedAfter: test.order) ?? []
        for (log, states) in inMemory {
            var commits: [RecordedStates.Commit] = []
            let name = names.claim("memory")
            let isShared = !test.isAlone || log.records.first?.phase == .earlier
            let recorded = states.flatMap {
                recordedStore($0, named: name, isShared: isShared, &commits)
            }
            stores.append(recorded ?? Self.lostStore(named: name, isShared: isShared))
            stage(log, commits, images: test.images, rules)
        }
        if inMemory.isEmpty || stores.contains(where: { $0.storage == .memory && $0.entry == nil }) {
            warnings.add(
                .memoryStoresLost,
                "The test had stores in memory, whose content is gone with its process \(test.process.number).",
                ["process": .number(Int64(test.process.number))])
        }
    }

    private mutating func copy(
        _ path: InFlightTest.Path, of process: Int32, named name: String, _ limits: DirectoryLimits,
        _ rules: RedactionRules, _ states: RecordedStates?, _ commits: inout [RecordedStates.Commit]
    ) -> BundleMetadata.Store {
        let start = Instant.now
        let entries = StoreEntries(of: name, in: folder)
        var snapshot = Snapshot(storage: .file)
        var bytes: UInt64?
        do {
            let targets = Snapshotter.Targets(
                copy: try staging.path(ofEntry: entries.copy),
                committed: nil, raw: staging.file(ofEntry: entries.raw),
                history: folder == "stores" ? staging.file(ofEntry: entries.history) : nil)
            let database = FileSystem.regularFile(path.path)?.size ?? 0
            let isTooLarge = database > limits.storeBytes
            let maximum =
                isTooLarge ? limits.storeBytes : room.available(for: database)
            var snapshotter = Snapshotter(maximumBytes: min(limits.storeBytes, maximum))
            if rules.concernStores { snapshotter.redactor = StoreRedactor(rules) }
            if rules.leavesOutContent {
                snapshot.reason = RedactionRules.reasonForNoContent
            } else {
                snapshot = ForkGuard.withForksDelayed {
                    snapshotter.capture(
                        StoreSource(path: path.path, process: process), to: targets)
                }
                removed.add(snapshot.redaction?.removed ?? RemovedValues())
            }
            bytes = FileSystem.regularFile(targets.copy)?.size
            if snapshot.method != .described {
                addHistory(states, to: &snapshot, targets)
                commits = snapshot.history?.commits ?? []
            }
        } catch {
            snapshot.reason = "\(error)."
        }
        if let bytes = snapshot.excessiveBytes {
            let limit = bytes > limits.storeBytes ? .storeBytes : room.limit
            limitsHit.insert(limit.rawValue)
            snapshot.reason = snapshot.reason.map { "\($0) \(limit.rawValue) sets the limit." }
        }
        // Another process can't tell whether the test's connection was in a transaction.
        snapshot.isTransactionOpen = nil
        warnings += snapshot.warnings
        if let reason = snapshot.reason {
            warnings.append(.storeNotCopied(name, because: reason))
        }
        let store = BundleMetadata.Store(
            snapshot, named: name, originalPath: path.path, isShared: path.isShared,
            openedBy: path.openedBy, duration: start.elapsed, entries: entries, bytes: bytes)
        return takeRoom(for: store, &commits)
    }

    /// Adds the recorded states before a copy, if there are any.
    private func addHistory(
        _ states: RecordedStates?, to snapshot: inout Snapshot, _ targets: Snapshotter.Targets
    ) {
        guard let states, let target = targets.history else { return }
        try? states.improve(
            &snapshot.history, endingWith: targets.copy, at: target,
            maximumBytes: Snapshotter.maximumHistoryBytes)
    }

    /// Writes the last recorded state of a store in memory; nil if it is not complete.
    private mutating func recordedStore(
        _ states: RecordedStates, named name: String, isShared: Bool,
        _ commits: inout [RecordedStates.Commit]
    ) -> BundleMetadata.Store? {
        let start = Instant.now
        let entries = StoreEntries(of: name, in: folder)
        var snapshot = Snapshot(storage: .memory)
        do throws(SystemError) {
            let targets = Snapshotter.Targets(
                copy: try staging.path(ofEntry: entries.copy), committed: nil,
                raw: staging.file(ofEntry: entries.raw),
                history: staging.file(ofEntry: entries.history))
            guard try states.writeLastState(toNewFile: targets.copy) else { return nil }
            snapshot.method = .recorded
            snapshot.isConsistent = true
            addHistory(states, to: &snapshot, targets)
            commits = snapshot.history?.commits ?? []
            let store = BundleMetadata.Store(
                snapshot, named: name, originalPath: nil, isShared: isShared, duration: start.elapsed,
                entries: entries, bytes: FileSystem.regularFile(targets.copy)?.size)
            return takeRoom(for: store, &commits)
        } catch {
            return nil
        }
    }

    /// Describes a store in memory, of which only the statements are left.
    private static func lostStore(named name: String, isShared: Bool) -> BundleMetadata.Store {
        BundleMetadata.Store(
            name: name, storage: .memory, shared: isShared ? true : nil,
            capture: .init(
                method: Snapshot.Method.described.rawValue, consistent: false, duration: 0,
                reason: "The store was in memory, and its content is gone with its process."),
            bytes: .init())
    }

    /// Writes the statements of the last store.
    private mutating func stage(
        _ log: RecordedStatements.Log, _ commits: [RecordedStates.Commit], images: String?,
        _ rules: RedactionRules
    ) {
        guard !log.records.isEmpty, let index = stores.indices.last else { return }
        var records = log.records
        records.noteCommits(commits)
        testNumbers.formUnion(records.compactMap(\.test))
        // The schema's names aren't known here. Rules that would need them leave out all statements.
        let lines = StatementRecord.lines(
            of: StatementRecord.redacted(records, obeying: rules, keeping: []))
        guard room.take(UInt64(lines.count)) else {
            limitsHit.insert(room.limit.rawValue)
            return
        }
        let entry = StoreEntries(of: stores[index].name, in: folder).statements
        do throws(SystemError) {
            if let images { try staging.record(images: images) }
            try FileSystem.write(lines, toNewFile: staging.path(ofEntry: entry))
            stores[index].statements = .init(
                entry: entry, count: log.records.count, limit: log.limit)
        } catch {
            warnings.add(
                .statementsNotKept,
                "The statements of '\(stores[index].name)' were not kept: \(error).",
                ["store": .text(stores[index].name)])
        }
    }

    /// Reserves room for a store's files, or removes them and their entries if there isn't enough.
    private mutating func takeRoom(
        for store: BundleMetadata.Store, _ commits: inout [RecordedStates.Commit]
    ) -> BundleMetadata.Store {
        var store = store
        defer { if store.history?.entry == nil { commits = [] } }
        guard let shortage = room.takeFiles(of: &store) else { return store }
        let reason = "\(shortage) \(room.limit.rawValue) sets the limit."
        limitsHit.insert(room.limit.rawValue)
        warnings.append(.storeNotCopied(store.name, because: reason, limit: room.limit.rawValue))
        return store.described(because: reason)
    }
}

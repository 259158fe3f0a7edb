internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Copies of a test's stores that another process made.
struct RecoveredCopies: Sendable {
    private(set) var stores: [BundleMetadata.Store] = []
    private(set) var warnings: [CaptureWarning] = []
    private(set) var limitsHit: Set<String> = []
    /// The tests that ran the recorded statements, as far as the list has them; nil if it lists none.
    private(set) var tests: [BundleMetadata.NumberedTest]?
    /// Some of the values that redactions removed from the copies.
    private(set) var removed = RemovedValues()
    var staging: StagingDirectory { room.staging }
    private var room: StagingReservation
    private let test: InFlightTest
    private let folder: String
    private let limits: DirectoryLimits
    private let rules: RedactionRules
    private var testNumbers: Set<InFlightRecord.TestID> = []

    /// Copies the stores that a list contains, to the staging directory of a reservation.
    ///
    /// Their entries in the bundle are below `folder`. The statements are nil if they can't be read.
    init(
        of test: InFlightTest, _ statements: LoggedStatements?, in room: StagingReservation,
        below folder: String, limits: DirectoryLimits, obeying rules: RedactionRules
    ) {
        self.test = test
        self.room = room
        self.folder = folder
        self.limits = limits
        self.rules = rules
        var names = StoreNames()
        // The process's log stays in memory if there are rules. If they were added later, it isn't used.
        let isUsable = folder == "stores" && test.redactions.isEmpty && !rules.concernStores
        let statements = isUsable ? statements : nil
        // The list doesn't tell whether an earlier test opened a shared store, so databases of frameworks are copied, too.
        for path in test.paths {
            let identity = try? FileSystem.status(of: path.path)?.identity
            let states = statements?.states.first { $0.file != nil && $0.file == identity }
            let name = names.claim(Path.stem(of: Path.name(of: path.path)))
            let (store, history) = copy(path, named: name, states)
            add(store, history, statements?.log(of: path.path, testStartedAfter: test.order))
        }
        if test.hasMemoryStores { addStoresInMemory(statements, &names) }
        let known = statements?.tests.filter { testNumbers.contains($0.id) } ?? []
        tests = known.isEmpty ? nil : known
    }

    private mutating func copy(
        _ path: InFlightTest.Path, named name: String, _ states: RecordedStates?
    ) -> (BundleMetadata.Store, WALHistory.Summary?) {
        let start = Instant.now
        let entries = StoreEntries(of: name, in: folder)
        var storeCopy = StoreCopy(storage: .file)
        var bytes: UInt64?
        do {
            let targets = try targets(of: entries)
            let database = FileSystem.regularFile(path.path)?.size ?? 0
            let maximum =
                database > limits.storeBytes ? limits.storeBytes : room.available(for: database)
            var copier = StoreCopier(maximumBytes: min(limits.storeBytes, maximum))
            if rules.concernStores { copier.redactor = StoreRedactor(rules) }
            if rules.leavesOutContent {
                storeCopy.reason = RedactionRules.reasonForNoContent
            } else {
                storeCopy = ForkGuard.withForksDelayed {
                    copier.capture(
                        StoreSource(path: path.path, process: test.process.number), to: targets)
                }
                removed.add(storeCopy.redaction?.removed ?? RemovedValues())
            }
            bytes = FileSystem.regularFile(targets.copy)?.size
            if storeCopy.method != .described { addHistory(states, to: &storeCopy, targets) }
        } catch {
            storeCopy.reason = "\(error)."
        }
        if let bytes = storeCopy.excessiveBytes {
            let limit = bytes > limits.storeBytes ? .storeBytes : room.limit
            limitsHit.insert(limit.rawValue)
            storeCopy.reason = storeCopy.reason.map { "\($0) \(limit.rawValue) sets the limit." }
        }
        // Another process can't tell whether the test's connection was in a transaction.
        storeCopy.isTransactionOpen = nil
        warnings += storeCopy.warnings
        if let reason = storeCopy.reason {
            warnings.append(.storeNotCopied(name, because: reason))
        }
        let store = BundleMetadata.Store(
            storeCopy, named: name, originalPath: path.path, isShared: path.isShared,
            openedBy: path.openedBy, duration: start.elapsed, entries: entries, bytes: bytes)
        return (store, storeCopy.history)
    }

    private func targets(of entries: StoreEntries) throws(SystemError) -> StoreCopier.Targets {
        StoreCopier.Targets(
            copy: try staging.path(ofEntry: entries.copy), committed: nil,
            raw: staging.file(ofEntry: entries.raw),
            history: folder == "stores" ? staging.file(ofEntry: entries.history) : nil)
    }

    /// Adds the recorded states before a copy, if there are any.
    private func addHistory(
        _ states: RecordedStates?, to storeCopy: inout StoreCopy, _ targets: StoreCopier.Targets
    ) {
        guard let states, let target = targets.history else { return }
        try? states.improve(
            &storeCopy.history, endingWith: targets.copy, at: target,
            maximumBytes: StoreCopier.maximumHistoryBytes)
    }

    private mutating func addStoresInMemory(
        _ statements: LoggedStatements?, _ names: inout StoreNames
    ) {
        let inMemory = statements?.storesInMemory(testStartedAfter: test.order) ?? []
        for (log, states) in inMemory {
            let name = names.claim("memory")
            let isShared = !test.isAlone || log.records.first?.phase == .earlier
            let (store, history) = storeInMemory(states, named: name, isShared: isShared)
            add(store, history, log)
        }
        if inMemory.isEmpty || stores.contains(where: { $0.storage == .memory && $0.entry == nil }) {
            warnings.add(
                .memoryStoresLost,
                "The test had stores in memory, whose content is gone with its process \(test.process.number).",
                ["process": .number(Int64(test.process.number))])
        }
    }

    /// Writes the last recorded state of a store in memory, if it is complete.
    private func storeInMemory(
        _ states: RecordedStates?, named name: String, isShared: Bool
    ) -> (BundleMetadata.Store, WALHistory.Summary?) {
        let start = Instant.now
        let entries = StoreEntries(of: name, in: folder)
        var storeCopy = StoreCopy(storage: .memory)
        storeCopy.reason = "The store was in memory, and its content is gone with its process."
        if let states, let targets = try? targets(of: entries),
            (try? states.writeLastState(toNewFile: targets.copy)) == true
        {
            storeCopy.reason = nil
            storeCopy.method = .recorded
            storeCopy.isConsistent = true
            addHistory(states, to: &storeCopy, targets)
        }
        let store = BundleMetadata.Store(
            storeCopy, named: name, originalPath: nil, isShared: isShared, duration: start.elapsed,
            entries: entries, bytes: FileSystem.regularFile(staging.file(ofEntry: entries.copy))?.size)
        return (store, storeCopy.history)
    }

    /// Adds a store with its statements, without its copy if there is no room for that.
    private mutating func add(
        _ store: BundleMetadata.Store, _ history: WALHistory.Summary?,
        _ log: LoggedStatements.Log?
    ) {
        var store = store
        if let shortage = room.takeFiles(of: &store) {
            let reason = "\(shortage) \(room.limit.rawValue) sets the limit."
            limitsHit.insert(room.limit.rawValue)
            warnings.append(.storeNotCopied(store.name, because: reason, limit: room.limit.rawValue))
            store = store.described(because: reason)
        }
        if let log, !log.records.isEmpty {
            stage(log, store.history?.entry == nil ? [] : history?.commits ?? [], of: &store)
        }
        stores.append(store)
    }

    private mutating func stage(
        _ log: LoggedStatements.Log, _ commits: [RecordedStates.Commit],
        of store: inout BundleMetadata.Store
    ) {
        var records = log.records
        records.noteCommits(commits)
        testNumbers.formUnion(records.compactMap(\.test))
        let entry = StoreEntries(of: store.name, in: folder).statements
        do throws(SystemError) {
            // The schema's names aren't known here. Rules that would need them leave out all statements.
            records = StatementRecord.redacted(records, obeying: rules, keeping: [])
            guard try room.stage(records, to: entry, images: test.images) else {
                limitsHit.insert(room.limit.rawValue)
                return
            }
            store.statements = .init(entry: entry, count: records.count, limit: log.limit)
        } catch {
            warnings.add(
                .statementsNotKept, "The statements of '\(store.name)' were not kept: \(error).",
                ["store": .text(store.name)])
        }
    }
}

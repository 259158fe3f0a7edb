internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Copies of a test's stores that another process made.
struct RecoveredCopies: Sendable {
    private(set) var stores: [BundleMetadata.Store] = []
    private(set) var staged: StoreStaging
    /// The tests that ran the recorded statements, as far as the list has them; nil if it lists none.
    private(set) var tests: [BundleMetadata.NumberedTest]?
    private let test: InFlightTest
    private let folder: String

    /// Copies the stores that a list contains, to the staging directory of a reservation.
    ///
    /// Their entries in the bundle are below `folder`. The statements are nil if they can't be read.
    init(
        of test: InFlightTest, _ statements: LoggedStatements?, in room: StagingRoom,
        below folder: String, limits: DirectoryLimits, obeying rules: RedactionRules
    ) {
        self.test = test
        self.folder = folder
        staged = StoreStaging(in: room, within: limits, obeying: rules)
        var names = StoreNames()
        // The process's log stays in memory if there are rules. If they were added later, it isn't used.
        let isUsable = folder == "stores" && test.redactions.isEmpty && !rules.concernStores
        let statements = isUsable ? statements : nil
        // The list doesn't tell whether an earlier test opened a shared store, so databases of frameworks are copied, too.
        for path in test.paths {
            let status = FileSystem.regularFile(path.path)
            let states = statements?.states.first { $0.file != nil && $0.file == status?.identity }
            let subject = StoreStaging.Subject(
                names.claim(Path.stem(of: Path.name(of: path.path))), .file, path: path.path,
                isShared: path.isShared, openedBy: path.openedBy)
            let log = statements?.log(of: path.path, testStartedAfter: test.order)
            add(subject, expecting: status?.size ?? 0, log) { copier, targets in
                var storeCopy = ForkGuard.withForksDelayed {
                    copier.capture(
                        StoreSource(path: path.path, process: test.process.number), to: targets)
                }
                // Another process can't tell whether the test's connection was in a transaction.
                storeCopy.isTransactionOpen = nil
                if storeCopy.method != .described { Self.addHistory(states, to: &storeCopy, targets) }
                return storeCopy
            }
        }
        if test.hasMemoryStores { addStoresInMemory(statements, &names) }
        let known = statements?.tests.filter { staged.testNumbers.contains($0.id) } ?? []
        tests = known.isEmpty ? nil : known
    }

    /// Adds a store with its statements.
    private mutating func add(
        _ subject: StoreStaging.Subject, expecting bytes: UInt64, _ log: LoggedStatements.Log?,
        _ make: (StoreCopier, StoreCopier.Targets) -> StoreCopy
    ) {
        var copier = StoreCopier(maximumBytes: .max)
        if staged.rules.concernStores { copier.redactor = StoreRedactor(staged.rules) }
        guard let result = staged.stage(subject, below: folder, expecting: bytes, by: copier, make)
        else { return }
        var store = result.store
        if let log, let copy = result.copy {
            staged.stage(log.records, of: copy, limit: log.limit, images: test.images, to: &store)
        }
        stores.append(store)
    }

    /// Adds the recorded states before a copy, if there are any.
    private static func addHistory(
        _ states: RecordedStates?, to storeCopy: inout StoreCopy, _ targets: StoreCopier.Targets
    ) {
        guard let states, let target = targets.history else { return }
        try? states.improve(
            &storeCopy.history, endingWith: targets.copy, at: target,
            maximumBytes: StoreCopier.maximumHistoryBytes)
    }

    /// Writes the last recorded state of each store in memory that is complete.
    private mutating func addStoresInMemory(
        _ statements: LoggedStatements?, _ names: inout StoreNames
    ) {
        let inMemory = statements?.storesInMemory(testStartedAfter: test.order) ?? []
        for (log, states) in inMemory {
            let subject = StoreStaging.Subject(
                names.claim("memory"), .memory, path: nil,
                isShared: !test.isAlone || log.records.first?.phase == .earlier)
            add(subject, expecting: 0, log) { _, targets in
                var storeCopy = StoreCopy(storage: .memory)
                if let states, (try? states.writeLastState(toNewFile: targets.copy)) == true {
                    storeCopy.method = .recorded
                    storeCopy.isConsistent = true
                    Self.addHistory(states, to: &storeCopy, targets)
                }
                return storeCopy
            }
        }
        let reason = "The store was in memory, and its content is gone with its process."
        var isLost = inMemory.isEmpty
        for index in stores.indices where stores[index].storage == .memory && stores[index].entry == nil
        {
            stores[index].capture.reason = stores[index].capture.reason ?? reason
            isLost = true
        }
        guard isLost else { return }
        staged.warnings.add(
            .memoryStoresLost,
            "The test had stores in memory, whose content is gone with its process \(test.process.number).",
            ["process": .number(Int64(test.process.number))])
    }
}

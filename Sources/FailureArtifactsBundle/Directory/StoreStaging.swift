package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The staging of a test's stores, by the test's own process or by one that recovers it.
package struct StoreStaging: Sendable {
    /// A store of the test.
    package struct Subject: Sendable {
        let name: String
        let storage: StoreCopy.Storage
        let path: String?
        let isShared: Bool
        let openedBy: BundleMetadata.Store.Opener?

        package init(
            _ name: String, _ storage: StoreCopy.Storage, path: String?, isShared: Bool,
            openedBy: BundleMetadata.Store.Opener? = nil
        ) {
            self.name = name
            self.storage = storage
            self.path = path
            self.isShared = isShared
            self.openedBy = openedBy
        }
    }

    /// The bytes that may still be staged.
    package var room: StagingRoom
    package var rules: RedactionRules
    /// The maximum size of a store that is copied, in bytes.
    private let storeBytes: UInt64
    package var warnings: [CaptureWarning] = []
    /// The limits that cut something, each by the name of its setting.
    package var limitsHit: Set<String> = []
    /// The numbers of the tests that ran the recorded statements.
    package private(set) var testNumbers: Set<TestID> = []
    /// A selection of the values that redactions removed.
    package private(set) var removed = RemovedValues()

    package init(
        in room: StagingRoom, within limits: DirectoryLimits, obeying rules: RedactionRules
    ) {
        self.room = room
        self.rules = rules
        storeBytes = limits.storeBytes
    }

    package var staging: StagingDirectory { room.staging }

    // MARK: Copies

    /// Copies a store to a folder of the bundle, and describes it; nil if there is nothing to keep.
    ///
    /// Without a copy in the result, no statements of the store are kept either.
    ///
    /// - `bytes`: the minimum size of the copy, as far as it is known.
    /// - `make`: makes the copy with a copier and to given files, a second time if more bytes may be copied after all.
    package mutating func stage(
        _ subject: Subject, below folder: String, expecting bytes: UInt64, by copier: StoreCopier,
        _ make: (StoreCopier, StoreCopier.Targets) -> StoreCopy
    ) -> (store: BundleMetadata.Store, copy: StoreCopy?)? {
        if rules.leavesOutContent {
            return (leaveOut(subject, because: RedactionRules.reasonForNoContent), nil)
        }
        let start = Instant.now
        let entries = StoreEntries(of: subject.name, in: folder)
        let targets: StoreCopier.Targets
        do {
            targets = StoreCopier.Targets(
                copy: try staging.path(ofEntry: entries.copy),
                committed: try staging.path(ofEntry: entries.committed),
                raw: staging.file(ofEntry: entries.raw),
                history: folder == "stores" && copier.maximumHistoryBytes > 0
                    ? staging.file(ofEntry: entries.history) : nil)
        } catch {
            return (leaveOut(subject, because: "\(error)."), nil)
        }
        // A store above the size limit isn't copied, so no room is looked up for it.
        var maximum = bytes > storeBytes ? bytes : room.available(for: bytes)
        var copier = copier
        copier.maximumBytes = min(storeBytes, maximum)
        var storeCopy = make(copier, targets)
        // Only the copy shows the size of a store in memory. A file may also have grown.
        if let bytes = storeCopy.excessiveBytes, bytes > maximum, bytes <= storeBytes {
            maximum = room.available(for: bytes)
            if maximum >= bytes {
                copier.maximumBytes = min(storeBytes, maximum)
                storeCopy = make(copier, targets)
            }
        }
        if storeCopy.isNothing { return nil }
        note(storeCopy, of: subject)
        removed.add(storeCopy.redaction?.removed ?? RemovedValues())
        var store = describe(
            subject, storeCopy, entries, duration: start.elapsed,
            bytes: FileSystem.regularFile(targets.copy)?.size)
        if let shortage = room.takeFiles(of: &store) {
            store = store.described(because: shortage)
            var described = StoreCopy(storage: subject.storage)
            described.reason = shortage
            note(described, of: subject, limit: room.limit.rawValue)
        }
        return (store, storeCopy)
    }

    /// Describes a store that is not copied, and records the reason as a warning.
    package mutating func leaveOut(
        _ subject: Subject, because reason: String, _ limit: String? = nil
    ) -> BundleMetadata.Store {
        var storeCopy = StoreCopy(storage: subject.storage)
        storeCopy.reason = reason
        note(storeCopy, of: subject, limit: limit)
        return describe(subject, storeCopy)
    }

    func describe(
        _ subject: Subject, _ copy: StoreCopy, _ entries: StoreEntries? = nil, duration: Double = 0,
        bytes: UInt64? = nil
    ) -> BundleMetadata.Store {
        BundleMetadata.Store(
            copy, named: subject.name, originalPath: subject.path, isShared: subject.isShared,
            openedBy: subject.openedBy, duration: duration,
            entries: entries ?? StoreEntries(of: subject.name, in: ""), bytes: bytes)
    }

    private mutating func note(_ copy: StoreCopy, of subject: Subject, limit: String? = nil) {
        var limit = limit
        if let bytes = copy.excessiveBytes {
            limit = (bytes > storeBytes ? .storeBytes : room.limit).rawValue
        }
        if let reason = copy.reason {
            let hint = limit.map { " \($0) sets the limit." } ?? ""
            warnings.append(.storeNotCopied(subject.name, because: reason + hint, limit: limit))
        }
        warnings += copy.warnings
        if let limit { limitsHit.insert(limit) }
    }

    // MARK: Statements

    /// Writes the last statements of a store, and adds them to its description.
    ///
    /// - `copy`: the store's copy, in whose history they ended transactions.
    /// - `limit`: the number of statements if older ones are missing, and `reason` why others are.
    /// - `images`: the images of the test's process, as JSON.
    package mutating func stage(
        _ records: [StatementRecord], of copy: StoreCopy, limit: Int?, reason: String? = nil,
        images: @autoclosure () -> String?, to store: inout BundleMetadata.Store
    ) {
        guard !records.isEmpty || reason != nil else { return }
        let entry = StoreEntries(of: store.name, in: "stores").statements
        var records = records
        records.noteCommits(store.history?.entry == nil ? [] : copy.history?.commits ?? [])
        testNumbers.formUnion(records.compactMap(\.test))
        records = StatementRecord.redacted(
            records, obeying: rules, keeping: copy.redaction?.names ?? [])
        do {
            guard try room.stage(records, to: entry, images: images()) else {
                limitsHit.insert(room.limit.rawValue)
                return
            }
            store.statements = .init(
                entry: entry, count: records.count, limit: records.isEmpty ? nil : limit, reason: reason)
            if rules.concernStores { store.redactions?.append(RedactionRules.statementSummary) }
        } catch {
            warnings.add(
                .statementsNotKept, "The statements of '\(store.name)' were not kept: \(error).",
                ["store": .text(store.name)])
        }
    }
}

package import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

package struct BundleReader: Sendable {
    package let location: BundleLocation
    package let archive: ZipArchive
    package let metadata: BundleMetadata

    package init(
        _ location: BundleLocation, scratchDirectory: String, limits: ZipLimits = .standard
    ) throws(BundleError) {
        try self.init(
            location,
            archive: try location.openArchive(scratchDirectory: scratchDirectory, limits: limits))
    }

    package init(
        _ location: BundleLocation, archive: ZipArchive
    ) throws(BundleError) {
        metadata = try BundleMetadata(in: archive, of: location.description)
        self.location = location
        self.archive = archive
    }

    /// Finds an entry; its content is not read yet.
    package func entry(named name: String) throws(BundleError) -> ZipEntry {
        if let entry = archive.entry(named: name) { return entry }
        throw BundleError(
            location.description,
            metadata.sharedEntry(named: name).map { .sharedEntry($0) } ?? .missingEntry(name))
    }

    /// The size of an entry's content in bytes, not compressed; nil if there is no such entry.
    package func size(ofEntry name: String) -> UInt64? { archive.entry(named: name)?.size }

    /// Copies an entry to a new file.
    package func extract(entryNamed name: String, toNewFile path: String) throws(BundleError) {
        let entry = try entry(named: name)
        try location.reading { () throws(ZipError) in try archive.extract(entry, toNewFile: path) }
    }

    /// Copies a store to a new file; its name is the one in the bundle.
    ///
    /// - `directory`: an existing directory. The file goes to a new directory in it, because copies of one store at
    ///   several failures have the same name.
    package func extract(
        _ store: StoreChoice, below directory: String
    ) throws(BundleError) -> String {
        let folder = try location.usingFiles { () throws(SystemError) in
            try FileSystem.createUniqueDirectory(in: directory, prefix: "store-")
        }
        let path = Path.join(folder, store.fileName)
        try extract(entryNamed: store.entry, toNewFile: path)
        return path
    }
}

extension BundleReader {
    /// Returns the copy with a name.
    ///
    /// - `name`: a store's name, `NAME.committed`, or the name of an entry; nil for the first copy.
    package func store(named name: String?) throws(BundleError) -> StoreChoice {
        let choices = metadata.storeChoices
        let path = location.description
        guard let name else {
            // Those that another test opened come after the test's own.
            if let first = choices.first(where: { $0.store.openedBy == nil }) ?? choices.first {
                return first
            }
            guard let described = metadata.stores.first else {
                throw BundleError(path, .noStores)
            }
            throw BundleError(path, .storeNotCaptured(described.name, described.capture.reason))
        }
        if let choice = choices.first(where: { $0.name == name || $0.entry == name }) { return choice }
        if let described = metadata.stores.first(where: { $0.name == name }) {
            throw BundleError(path, .storeNotCaptured(name, described.capture.reason))
        }
        throw BundleError(path, .noSuchStore(name, choices.map(\.name)))
    }

    /// Returns the version of the SQLite that last wrote a store, such as `3.46.1`; nil if it is unknown.
    ///
    /// The header has it (<https://www.sqlite.org/fileformat2.html#the_database_header>). A redaction writes the copy.
    package func writerVersion(of store: BundleMetadata.Store) -> String? {
        guard store.redactions == nil, let entry = store.entry.flatMap(archive.entry) else { return nil }
        var header: [UInt8] = []
        try? archive.read(entry) { (bytes) throws(SystemError) in
            header = Array(bytes.prefix(100))
            // The rest isn't needed.
            throw SystemError("read", entry.name, code: ECANCELED)
        }
        guard header.count == 100, header.starts(with: DatabaseHeader.magic) else { return nil }
        let number = header.withBytes { Int($0.bigEndianUInt32(at: 96)) }
        return number / 1_000_000 == 3 ? "3.\(number / 1000 % 1000).\(number % 1000)" : nil
    }

    private static let statementsLimit = 64 << 20
    private static let baselineLimit = 16 << 20

    /// Returns the last statements of a store's connections; empty if the store has no log.
    package func statements(
        of store: BundleMetadata.Store
    ) throws(BundleError) -> [StatementRecord] {
        guard let name = store.statements?.entry else { return [] }
        let records = try parsed(try entry(named: name), Self.statementsLimit, StatementRecord.records)
        return records.sorted { $0.order < $1.order }
    }

    /// The statements of the test's last passing runs, the newest run first; empty without a baseline.
    package var baselines: [Baseline] {
        get throws(BundleError) {
            guard let entry = archive.entry(named: Baseline.entry) else { return [] }
            return try parsed(entry, Self.baselineLimit, Baseline.versions)
        }
    }

    /// Parses an entry with statements, of at most `limit` bytes.
    private func parsed<Content>(
        _ entry: ZipEntry, _ limit: Int, _ parse: ([UInt8]) -> Content?
    ) throws(BundleError) -> Content {
        let bytes = try location.reading { () throws(ZipError) in
            try archive.contents(of: entry, limit: limit)
        }
        guard let content = parse(bytes) else {
            throw BundleError(location.description, .statements(entry.name))
        }
        return content
    }
}

extension StoreChoice {
    /// The file name for the copy: the entry's own, or `store.sqlite` if that can't be used.
    package var fileName: String {
        let name = Path.name(of: entry)
        return name.isEmpty || name == "." || name == ".." ? "store.sqlite" : name
    }
}

extension BundleMetadata.Store {
    /// A sentence about statements that were too old for the log; nil if the log didn't reach its limit.
    package var olderStatements: String? {
        statements?.limit.map {
            "Older statements aren't in the log: it has the last \($0) (FAILURE_ARTIFACTS_STATEMENTS)."
        }
    }
}

extension StatementRecord {
    /// The innermost line in another file that called the function of ``source``; nil if unknown.
    ///
    /// A reader may have replaced the source by one of the callers; its own callers follow it.
    package var callerInAnotherFile: Source? {
        outerCallers.first { $0.file != source?.file }
    }

    private var outerCallers: ArraySlice<Source> {
        guard let source, let callers else { return [] }
        return callers.firstIndex(of: source).map { callers[($0 + 1)...] } ?? callers[...]
    }

    /// The lines that called the function of ``source``, up to the one in another file: the innermost two of those in its
    /// file, and that one.
    ///
    /// The function around a closure isn't one of them.
    package var shownCallers: [Source] {
        let own = outerCallers.prefix { $0.file == source?.file }.filter { caller in
            let isAround = caller.function.map { source?.function?.hasSuffix(" in " + $0) ?? false }
            return isAround != true
        }
        return own.prefix(2) + (callerInAnotherFile.map { [$0] } ?? [])
    }
}

extension BundleReader {
    /// Extracts a store's history.
    ///
    /// - `choice`: one of the store's copies. The history always belongs to the committed one.
    /// - `directory`: an existing directory. The files go to a new directory in it.
    package func extractHistory(
        of choice: StoreChoice, below directory: String
    ) throws(BundleError) -> ExtractedHistory {
        let store = choice.store
        guard let entry = store.history?.entry, let copyEntry = store.committedEntry ?? store.entry
        else {
            throw BundleError(location.description, .noHistory(store.name, store.missingHistory))
        }
        guard !store.isCopyUncommitted else {
            throw BundleError(
                location.description,
                .noHistory(
                    store.name,
                    "It has a history of committed transactions, but no committed copy to apply it to.")
            )
        }
        let folder = try location.usingFiles { () throws(SystemError) in
            try FileSystem.createUniqueDirectory(in: directory, prefix: "history-")
        }
        let copy = Path.join(folder, "copy")
        let file = Path.join(folder, "history")
        try extract(entryNamed: copyEntry, toNewFile: copy)
        try extract(entryNamed: entry, toNewFile: file)
        return ExtractedHistory(
            entry: entry,
            reader: try HistoryReader(path: file, entry: entry, of: location.description), copy: copy,
            directory: folder)
    }
}

extension BundleMetadata.Store {
    /// The reason why there is no history, as full sentences; nil if there is one, or if the reason is unknown.
    package var missingHistory: String? {
        guard history?.entry == nil else { return nil }
        if let reason = history?.reason { return reason }
        guard storage == .file else { return "No transaction was recorded." }
        guard let journalMode else { return nil }
        guard journalMode == "wal" else { return "No transaction was recorded since it was opened." }
        guard bytes.wal ?? 0 > 0 else {
            return
                "It had no WAL at the failure, so its transactions were in the database already. SQLite "
                + "checkpoints the WAL when the last connection is closed: keep the store open until the assertion."
        }
        // The WAL was read.
        guard history != nil else { return nil }
        return
            "Its WAL had no transaction at the failure: a checkpoint had moved them into the database."
    }

    /// True if the only copy contains uncommitted changes; the history's pages don't match it then.
    fileprivate var isCopyUncommitted: Bool {
        guard committedEntry == nil else { return false }
        return switch StoreCopy.Method(rawValue: capture.method) {
        case .serialize, .pageCache: transactionOpen == true
        case .beforeRollback: true
        default: false
        }
    }
}

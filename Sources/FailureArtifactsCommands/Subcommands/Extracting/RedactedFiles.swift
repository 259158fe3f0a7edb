internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Writes redacted copies of a bundle's files.
struct RedactedFiles {
    /// The time limit for redacting one store, in seconds.
    static let timeLimit = 60.0

    private let bundle: BundleReader
    private let rules: RedactionRules
    private let directory: String
    private let scratch: String

    /// Creates a writer of redacted files.
    init(of bundle: BundleReader, _ rules: RedactionRules, in directory: String, scratch: String) {
        self.bundle = bundle
        self.rules = rules
        self.directory = directory
        self.scratch = scratch
    }

    /// Writes the files.
    ///
    /// - `report`: receives the path of each file and its size in bytes.
    func write(warn: (String) throws -> Void, report: (String, UInt64) throws -> Void) throws {
        var metadata = bundle.metadata
        var work = Work()
        metadata.stores = try metadata.stores.map { try write($0, &work, warn) }
        metadata.snapshots = try metadata.snapshots?.map { snapshot in
            var snapshot = snapshot
            snapshot.stores = try snapshot.stores.map { try write($0, &work, warn) }
            return snapshot
        }
        for index in metadata.attachments.indices {
            guard let entry = metadata.attachments[index].entry else { continue }
            if rules.leavesOut(attachment: metadata.attachments[index].name, file: entry) {
                metadata.attachments[index].entry = nil
                try warn("The attachment '\(metadata.attachments[index].name)' was left out.")
            } else {
                try copy(entry)
                work.files.append(entry)
            }
        }
        let readMe = "README.txt"
        if bundle.archive.entry(named: readMe) != nil {
            try copy(readMe)
            work.files.append(readMe)
        }
        if rules.shortensHomePaths { metadata.shortenHomePaths(.current) }
        try FileSystem.write(metadata.json(), toNewFile: file(BundleMetadata.entryName))
        for entry in [BundleMetadata.entryName] + work.files {
            let path = Path.join(directory, entry)
            try report(path, FileSystem.status(of: path)?.size ?? 0)
        }
    }

    /// The state of the work so far.
    private struct Work {
        /// The redacted entries.
        ///
        /// Several stores may share an entry.
        var redacted: [String: StoreRedactor.Result] = [:]
        /// The names of all files, in order.
        var files: [String] = []
    }

    /// Writes the files of one store.
    private func write(
        _ store: BundleMetadata.Store, _ work: inout Work, _ warn: (String) throws -> Void
    ) throws -> BundleMetadata.Store {
        if rules.leavesOutContent {
            return store.described(because: RedactionRules.reasonForNoContent)
        }
        guard rules.concernStores else {
            for entry in store.stagedEntries where !work.files.contains(entry) {
                try copy(entry)
                work.files.append(entry)
            }
            if let entry = store.statements?.entry {
                try writeStatements(of: store, names: [])
                work.files.append(entry)
            }
            return store
        }
        var result = store
        var done = StoreRedactor.Result()
        for entry in [store.entry, store.committedEntry].compactMap(\.self) {
            do {
                if work.redacted[entry] == nil {
                    work.redacted[entry] = try redact(entry)
                    work.files.append(entry)
                    for note in work.redacted[entry]?.notes ?? [] { try warn(note.text) }
                }
                if let one = work.redacted[entry] { done.add(one) }
            } catch let error as RedactionError {
                let reason = "It could not be redacted. \(error)"
                try warn("The store '\(store.name)' was left out. \(reason)")
                return store.described(because: reason)
            }
        }
        if store.rawEntries != nil {
            result.rawEntries = nil
            try warn("The raw copies of '\(store.name)' were left out.")
        }
        if store.history?.entry != nil {
            result.history = .init(
                reason: "A history of pages cannot be redacted, so it was left out.")
            try warn("The history of '\(store.name)' was left out.")
        }
        result.redactions = (store.redactions ?? []) + done.summaries
        result.forgetOriginal(redacted: result.entry.map { Path.join(directory, $0) })
        if let entry = store.statements?.entry {
            try writeStatements(of: store, names: done.names)
            work.files.append(entry)
            result.redactions?.append(RedactionRules.statementSummary)
        }
        return result
    }

    private func copy(_ entry: String) throws {
        try bundle.extract(entryNamed: entry, toNewFile: file(entry))
    }

    /// Returns the path of an entry's file and creates its directory.
    private func file(_ entry: String) throws -> String {
        // The metadata may name anything. The archive reader rejects names that lead out of the directory.
        _ = try bundle.entry(named: entry)
        let path = Path.join(directory, entry)
        try FileSystem.createDirectory(Path.directory(of: path), permissions: 0o777)
        return path
    }

    private func redact(_ entry: String) throws -> StoreRedactor.Result {
        let place = try FileSystem.createUniqueDirectory(in: scratch, prefix: "redact-")
        defer { try? FileSystem.remove(place) }
        let copy = Path.join(place, "store.sqlite")
        try bundle.extract(entryNamed: entry, toNewFile: copy)
        let target = try file(entry)
        return try StoreRedactor(rules, timeLimit: Self.timeLimit).redact(copy, to: target)
    }

    private func writeStatements(of store: BundleMetadata.Store, names: Set<String>) throws {
        guard let entry = store.statements?.entry else { return }
        let records = StatementRecord.redacted(
            try bundle.statements(of: store), obeying: rules, keeping: names)
        try FileSystem.write(StatementRecord.lines(of: records), toNewFile: file(entry))
    }
}

extension BundleMetadata.Store {
    /// Removes SQLite's description of the original copy, and sets the size of the redacted one.
    fileprivate mutating func forgetOriginal(redacted path: String?) {
        bytes.copy = path.flatMap { FileSystem.regularFile($0) }?.size
        (pageSize, pageCount, freePageCount, userVersion, applicationID) = (nil, nil, nil, nil, nil)
        (integrity, tables, schema, schemaOmitted) = (nil, nil, nil, nil)
    }
}

internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

// Staging of the copies that a bundle is packed from.
extension Capture {
    /// Returns the stores that belong to the test, and notes those that are only named.
    mutating func findStores() -> [FoundStores.Store] {
        let found = FoundStores.find(
            of: test, in: session, discovers: configuration.discoversStores,
            artifactsDirectory: directory.path)
        otherStores += found.others
        return found.stores
    }

    /// Copies stores in their current state to a folder of the bundle.
    ///
    /// Temporary schemas without tables are left out. Without a failure, something else caused the copies.
    mutating func stage(
        _ found: [FoundStores.Store], below folder: String, after failure: FailureEvent?
    ) -> [BundleMetadata.Store] {
        let deadline = Instant.now.advanced(bySeconds: configuration.timeLimitPerFailure)
        return found.compactMap { found in
            if let reason = found.storeOfLibrary?.reasonForNoContent {
                return leaveOut(found, because: reason)
            }
            if rules.leavesOutContent {
                return leaveOut(found, because: RedactionRules.reasonForNoContent)
            }
            return Instant.now < deadline
                ? stageStore(found, below: folder, after: failure, until: deadline)
                : leaveOut(
                    found, because: "The time that a failure may take was up.",
                    "CaptureConfiguration.timeLimitPerFailure")
        }
    }

    /// Describes a store that is not copied, and records the reason as a warning.
    private mutating func leaveOut(
        _ found: FoundStores.Store, because reason: String, _ limit: String? = nil
    ) -> BundleMetadata.Store {
        var storeCopy = StoreCopy(storage: found.store.storage)
        storeCopy.reason = reason
        note(storeCopy, of: found, limit: limit)
        return BundleMetadata.Store(
            storeCopy, named: found.name, originalPath: found.store.path, isShared: found.isShared,
            openedBy: found.openedBy, duration: 0, entries: StoreEntries(of: found.name, in: ""),
            bytes: nil)
    }

    private mutating func stageStore(
        _ found: FoundStores.Store, below folder: String, after failure: FailureEvent?,
        until deadline: Instant
    ) -> BundleMetadata.Store? {
        let start = Instant.now
        let entries = StoreEntries(of: found.name, in: folder)
        do {
            let expected = found.store.expectedBytes
            // A store above the size limit isn't copied, so no room is looked up for it.
            var maximum =
                expected > configuration.maximumStoreBytes ? expected : room.available(for: expected)
            var copier = copier(maximumBytes: maximum, until: deadline)
            let targets = try targets(of: entries, hasHistory: folder == "stores")
            if let library = found.storeOfLibrary { keep(library.externalFiles(), of: found) }
            let isAfterError = failure?.isThrownError == true
            var storeCopy = copier.capture(
                found.store, to: targets, prefersStateBeforeRollback: isAfterError)
            // Only the copy shows the size of a store in memory. A file may also have grown.
            if let bytes = storeCopy.excessiveBytes, bytes > maximum,
                bytes <= configuration.maximumStoreBytes
            {
                maximum = room.available(for: bytes)
                if maximum >= bytes {
                    copier.maximumBytes = min(configuration.maximumStoreBytes, maximum)
                    storeCopy = copier.capture(
                        found.store, to: targets, prefersStateBeforeRollback: isAfterError)
                }
            }
            if storeCopy.isNothing { return nil }
            note(storeCopy, of: found)
            removed.add(storeCopy.redaction?.removed ?? RemovedValues())
            var store = BundleMetadata.Store(
                storeCopy, named: found.name, originalPath: found.store.path, isShared: found.isShared,
                openedBy: found.openedBy, duration: start.elapsed, entries: entries,
                bytes: FileSystem.regularFile(targets.copy)?.size)
            store.lockedBy = storeCopy.lockHolder.map { lockHolder($0, of: found.store) }
            if let shortage = room.takeFiles(of: &store) {
                return leaveOut(found, because: shortage, room.limit.rawValue)
            }
            if folder == "stores" {
                stageStatements(
                    of: found, to: entries.statements, names: storeCopy.redaction?.names ?? [],
                    history: store.history?.entry == nil ? nil : storeCopy.history, &store)
            }
            return store
        } catch {
            return leaveOut(found, because: "\(error).")
        }
    }

    /// Describes the process or connection that keeps others from writing.
    private func lockHolder(
        _ process: Int32, of store: DiscoveredStore
    ) -> BundleMetadata.Store.LockHolder {
        guard process == getpid() else {
            let name = try? FileSystem.contents(ofFile: "/proc/\(process)/comm")
            return .init(
                process: process,
                command: name.map { String(decoding: $0.prefix { $0 != 10 }, as: UTF8.self) })
        }
        let connection = store.accesses.first { $0.transaction == .write }?.connection
        let owner = connection?.owner.flatMap { $0 == test.id ? nil : $0 }
        return .init(
            process: process, connection: connection?.serial,
            test: owner.flatMap { id in session.state.withLock { $0.opener(id) } })
    }

    private func copier(maximumBytes: UInt64, until deadline: Instant) -> StoreCopier {
        var copier = StoreCopier(
            timeLimit: configuration.timeLimitPerStore,
            maximumBytes: min(configuration.maximumStoreBytes, maximumBytes))
        copier.maximumHistoryBytes = configuration.maximumHistoryBytes
        if rules.concernStores {
            copier.redactor = StoreRedactor(
                rules,
                timeLimit: max(configuration.timeLimitPerStore, Instant.now.seconds(until: deadline)))
        }
        return copier
    }

    private func targets(
        of entries: StoreEntries, hasHistory: Bool
    ) throws(SystemError) -> StoreCopier.Targets {
        StoreCopier.Targets(
            copy: try staging.path(ofEntry: entries.copy),
            committed: try staging.path(ofEntry: entries.committed),
            raw: staging.file(ofEntry: entries.raw),
            history: hasHistory && configuration.maximumHistoryBytes > 0
                ? staging.file(ofEntry: entries.history) : nil)
    }

    /// Makes the files that belong to a store, and are not part of its database, attachments of the bundle.
    private mutating func keep(_ files: [LibraryStore.ExternalFile], of found: FoundStores.Store) {
        if files.isEmpty { return }
        if rules.concernStores {
            problems.warnings.add(
                .externalFilesLeftOut,
                "What the store '\(found.name)' keeps in files of their own was left out: there is no "
                    + "telling which of it is redacted.",
                ["store": .text(found.name)])
            return
        }
        test.state.withLock { $0.attachments += files.map { ($0.name, .externalFile($0.path)) } }
    }

    /// Writes the last statements of a store to an entry in the staging directory, and updates the store's description.
    ///
    /// The names in the store's schema may stay in redacted statements.
    private mutating func stageStatements(
        of found: FoundStores.Store, to entry: String, names: Set<String>,
        history: WALHistory.Summary?, _ store: inout BundleMetadata.Store
    ) {
        guard configuration.maximumStatements > 0 else { return }
        let log = found.store.statements(keeping: LoggedHistory(history))
        let clock = RecorderClock.current
        var records = log.statements.limited(to: configuration.maximumStatements).map {
            $0.record(by: clock, testStartedAfter: test.start.statement)
        }
        records.noteCommits(history?.commits ?? [])
        testNumbers.formUnion(records.compactMap(\.test))
        let reason =
            if let prefix = log.unrecordedPrefix {
                "This store was opened by a copy of SQLite without the functions that recording needs. The names of its "
                    + "functions begin with \(prefix)sqlite3."
            } else if log.isReplaced {
                "The application has replaced the trace that records statements; what was run since then is not known."
            } else if log.isCut {
                "Those of some connections are missing: they have ended, or were in use all the time."
            } else {
                String?.none
            }
        guard !records.isEmpty || reason != nil else { return }
        records = StatementRecord.redacted(records, obeying: rules, keeping: names)
        do {
            guard try room.stage(records, to: entry, images: LoadedImages.currentJSON) else {
                problems.limitsHit.insert(room.limit.rawValue)
                return
            }
            let isCut = log.lacksOlder || log.statements.reach(configuration.maximumStatements)
            store.statements = .init(
                entry: entry, count: records.count,
                limit: isCut && !records.isEmpty
                    ? min(records.count, configuration.maximumStatements) : nil,
                reason: reason)
            if rules.concernStores { store.redactions?.append(RedactionRules.statementSummary) }
        } catch {
            problems.warnings.add(
                .statementsNotKept, "The statements of '\(found.name)' were not kept: \(error).",
                ["store": .text(found.name)])
        }
    }

    /// Replaces entries of a snapshot's store with entries of an earlier copy that have the same content.
    mutating func shareContent(of store: inout BundleMetadata.Store) {
        let earlier = (stores + snapshots.flatMap(\.stores))
            .filter { $0.name == store.name }.flatMap(\.stagedEntries)
        store.entry = store.entry.map { sharedEntry($0, among: earlier) }
        store.committedEntry = store.committedEntry.map { sharedEntry($0, among: earlier) }
    }

    private mutating func sharedEntry(_ entry: String, among earlier: [String]) -> String {
        let path = staging.file(ofEntry: entry)
        guard let size = FileSystem.regularFile(path)?.size else { return entry }
        for candidate in earlier.reversed() {
            let other = staging.file(ofEntry: candidate)
            guard FileSystem.regularFile(other)?.size == size,
                (try? FileSystem.hasSameContent(File(sharing: path), File(sharing: other))) == true
            else { continue }
            try? FileSystem.remove(path)
            room.giveBack(size)
            return candidate
        }
        return entry
    }

    private mutating func note(_ storeCopy: StoreCopy, of found: FoundStores.Store, limit: String? = nil)
    {
        var news = storeCopy.warnings
        var limit = limit
        if let bytes = storeCopy.excessiveBytes {
            limit = (bytes > configuration.maximumStoreBytes ? .storeBytes : room.limit).rawValue
        }
        if let reason = storeCopy.reason {
            let hint = limit.map { " \($0) sets the limit." } ?? ""
            news.insert(
                .storeNotCopied(found.name, because: reason + hint, limit: limit), at: 0)
        }
        problems.warnings += news
        if let limit { problems.limitsHit.insert(limit) }
    }

    /// Stages the attachments that were added since the last call.
    mutating func stageAttachments() {
        let done = attachments.count
        for (name, source) in test.state.withLock(\.attachments).dropFirst(done) {
            let safeName = SafeName.make(from: name, maximumBytes: 150)
            let stem = Path.stem(of: safeName)
            let entry = attachmentNames.claim(stem, suffix: String(safeName.dropFirst(stem.count)))
            let attachment = stageAttachment(
                source, named: name, entry: "attachments/\(entry)")
            attachments.append(attachment)
            if let entry = attachment.entry, case .externalFile = source {
                reported.externalEntries.insert(entry)
            }
        }
    }

    /// Returns the size of a regular file, in bytes; no more than that is copied while others write to it.
    private func size(ofAttachedFile path: String) throws -> UInt64 {
        if let kind = try FileSystem.status(of: path)?.kind, kind != .regular {
            throw CaptureError(description: "'\(path)' is \(kind.noun), and only regular files are read")
        }
        return try File(sharing: path).size()
    }

    private mutating func stageAttachment(
        _ source: RunningTest.AttachmentSource, named name: String, entry: String
    ) -> BundleMetadata.Attachment {
        do {
            let size: UInt64 =
                switch source {
                case .bytes(let bytes): UInt64(bytes.count)
                case .file(let path), .externalFile(let path): try size(ofAttachedFile: path)
                }
            if rules.leavesOut(attachment: name, file: source.path) {
                problems.warnings.add(
                    .attachmentLeftOut, "The attachment '\(name)' was left out by a redaction.",
                    ["attachment": .text(name)])
                return BundleMetadata.Attachment(name: name, entry: nil, bytes: size)
            }
            guard room.take(size) else {
                problems.limitsHit.insert(room.limit.rawValue)
                problems.warnings.add(
                    .attachmentNotKept,
                    "The attachment '\(name)' has \(size) bytes, for which no room was left. "
                        + "\(room.limit.rawValue) sets the limit.",
                    ["attachment": .text(name), "limit": .text(room.limit.rawValue)])
                return BundleMetadata.Attachment(name: name, entry: nil, bytes: size)
            }
            let target = try staging.path(ofEntry: entry)
            switch source {
            case .bytes(let bytes): try FileSystem.write(bytes, toNewFile: target)
            case .file(let path), .externalFile(let path):
                try FileSystem.copy(path, toNewFile: target, maximumBytes: size)
            }
            return BundleMetadata.Attachment(name: name, entry: entry, bytes: size)
        } catch {
            problems.warnings.add(
                .attachmentNotKept, "The attachment '\(name)' was not kept: \(error).",
                ["attachment": .text(name)])
            return BundleMetadata.Attachment(name: name, entry: nil, bytes: 0)
        }
    }
}

extension DiscoveredStore {
    /// The minimum size of the copy, in bytes, according to the store's file; 0 if there is no file.
    fileprivate var expectedBytes: UInt64 {
        path.flatMap { FileSystem.regularFile($0)?.size } ?? 0
    }
}

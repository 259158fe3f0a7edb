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
            let subject = StoreStaging.Subject(
                found.name, found.store.storage, path: found.store.path, isShared: found.isShared,
                openedBy: found.openedBy)
            if let reason = found.storeOfAdapter?.reasonForNoContent {
                return staged.leaveOut(subject, because: reason)
            }
            guard Instant.now < deadline else {
                return staged.leaveOut(
                    subject, because: "The time that a failure may take was up.",
                    "CaptureConfiguration.timeLimitPerFailure")
            }
            if let store = found.storeOfAdapter, !staged.rules.leavesOutContent {
                keep(store.externalFiles(), of: found)
            }
            let result = staged.stage(
                subject, below: folder, expecting: found.store.expectedBytes, by: copier(until: deadline)
            ) { copier, targets in
                copier.capture(
                    found.store, to: targets,
                    prefersStateBeforeRollback: failure?.isThrownError == true)
            }
            guard var store = result?.store, let copy = result?.copy else { return result?.store }
            store.lockedBy = copy.lockHolder.map { lockHolder($0, of: found.store) }
            if folder == "stores" { stageStatements(of: found.store, copy, to: &store) }
            return store
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
            test: owner.flatMap { id in session.state.withLock { $0.tests.opener(id) } })
    }

    private func copier(until deadline: Instant) -> StoreCopier {
        var copier = StoreCopier(timeLimit: configuration.timeLimitPerStore, maximumBytes: .max)
        copier.maximumHistoryBytes = configuration.maximumHistoryBytes
        if staged.rules.concernStores {
            copier.redactor = StoreRedactor(
                staged.rules,
                timeLimit: max(configuration.timeLimitPerStore, Instant.now.seconds(until: deadline)))
        }
        return copier
    }

    /// Makes the files that belong to a store, and are not part of its database, attachments of the bundle.
    private mutating func keep(_ files: [AdapterStore.ExternalFile], of found: FoundStores.Store) {
        if files.isEmpty { return }
        if staged.rules.concernStores {
            staged.warnings.add(
                .externalFilesLeftOut,
                "What the store '\(found.name)' keeps in files of their own was left out: there is no "
                    + "telling which of it is redacted.",
                ["store": .text(found.name)])
            return
        }
        test.state.withLock { $0.attachments += files.map { ($0.name, .externalFile($0.path)) } }
    }

    /// Stages the last statements of a store.
    private mutating func stageStatements(
        of found: DiscoveredStore, _ copy: StoreCopy, to store: inout BundleMetadata.Store
    ) {
        let maximum = configuration.maximumStatements
        guard maximum > 0 else { return }
        let log = found.statements(keeping: LoggedHistory(copy.history))
        let clock = RecorderClock.current
        let records = log.statements.limited(to: maximum).map {
            $0.record(by: clock, testStartedAfter: test.start.statement)
        }
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
        staged.stage(
            records, of: copy,
            limit: log.lacksOlder || log.statements.reach(maximum) ? min(records.count, maximum) : nil,
            reason: reason, images: LoadedImages.currentJSON, to: &store)
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
            staged.room.giveBack(size)
            return candidate
        }
        return entry
    }

    /// Stages the attachments that were added since the last call.
    mutating func stageAttachments() {
        let done = attachments.count
        for (name, source) in test.state.withLock(\.attachments).dropFirst(done) {
            let safeName = SafeName.make(from: name, maximumBytes: 150)
            let stem = Path.stem(of: safeName)
            let entry = attachmentNames.claim(stem, suffix: String(safeName.dropFirst(stem.count)))
            let attachment = stageAttachment(source, named: name, entry: "attachments/\(entry)")
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
            if staged.rules.leavesOut(attachment: name, file: source.path) {
                staged.warnings.add(
                    .attachmentLeftOut, "The attachment '\(name)' was left out by a redaction.",
                    ["attachment": .text(name)])
                return BundleMetadata.Attachment(name: name, entry: nil, bytes: size)
            }
            guard staged.room.take(size) else {
                staged.limitsHit.insert(staged.room.limit.rawValue)
                staged.warnings.add(
                    .attachmentNotKept,
                    "The attachment '\(name)' has \(size) bytes, for which no room was left. "
                        + "\(staged.room.limit.rawValue) sets the limit.",
                    ["attachment": .text(name), "limit": .text(staged.room.limit.rawValue)])
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
            staged.warnings.add(
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

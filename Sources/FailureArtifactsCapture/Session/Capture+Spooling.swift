internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

// The copies that a bundle is packed from.
extension Capture {
    /// Limits, by what sets them.
    private enum Limit {
        static let storeBytes = "FAILURE_ARTIFACTS_MAX_STORE_BYTES"
        static let totalBytes = "FAILURE_ARTIFACTS_MAX_TOTAL_BYTES"
        static let time = "CaptureConfiguration.timeLimitPerFailure"
    }

    /// Copies the stores that belong to a test, as they are now.
    func spoolStores(
        of test: RunningTest, below folder: String, in spool: Spool
    ) -> [BundleMetadata.Store] {
        let found = FoundStores(
            test: test, registry: registry, discovers: configuration.discoversStores,
            artifactsDirectory: directory.path)
        state.withLock { $0.warnings += found.warnings }
        let deadline = Instant.now.advanced(bySeconds: configuration.timeLimitPerFailure)
        return found.stores.map { found in
            Instant.now < deadline
                ? spoolStore(found, below: folder, in: spool)
                : leaveOut(found, because: "The time that a failure may take was up.", Limit.time)
        }
    }

    /// Describes a store that is not copied.
    private func leaveOut(
        _ found: FoundStores.Store, because reason: String, _ limit: String? = nil
    ) -> BundleMetadata.Store {
        var snapshot = Snapshot(storage: found.store.path == nil ? .memory : .file)
        snapshot.reason = reason
        note(snapshot, of: found, limit: limit)
        return BundleMetadata.Store(snapshot, of: found, duration: 0, copy: nil)
    }

    private func spoolStore(
        _ found: FoundStores.Store, below folder: String, in spool: Spool
    ) -> BundleMetadata.Store {
        let start = Instant.now
        let entry = "\(folder)/\(found.name).sqlite"
        let committedEntry = "\(folder)/\(found.name).committed.sqlite"
        do {
            let path = try spool.path(ofEntry: entry)
            let committedPath = try spool.path(ofEntry: committedEntry)
            let snapshotter = Snapshotter(
                timeLimit: configuration.timeLimitPerStore,
                maximumBytes: min(configuration.maximumStoreBytes, remainingBytes))
            let snapshot = snapshotter.capture(found.store, to: path, committedTo: committedPath)
            note(snapshot, of: found)
            let isCopied = snapshot.method != .described
            let store = BundleMetadata.Store(
                snapshot, of: found, duration: start.elapsed,
                copy: isCopied ? (entry, path, committedEntry) : nil)
            state.withLock { $0.spooledBytes += store.copiedBytes }
            return store
        } catch {
            return leaveOut(found, because: "\(error).")
        }
    }

    private var remainingBytes: UInt64 {
        let spooled = state.withLock(\.spooledBytes)
        return budget - min(spooled, budget)
    }

    private func note(_ snapshot: Snapshot, of found: FoundStores.Store, limit: String? = nil) {
        var warnings = snapshot.warnings
        var limit = limit
        if let bytes = snapshot.excessiveBytes {
            let isTooLargeItself = bytes > configuration.maximumStoreBytes
            limit = isTooLargeItself ? Limit.storeBytes : Limit.totalBytes
        }
        if let reason = snapshot.reason {
            let hint = limit.map { " \($0) sets the limit." } ?? ""
            warnings.insert("The store '\(found.name)' was not copied. \(reason)\(hint)", at: 0)
        }
        state.withLock { state in
            state.warnings += warnings
            if let limit { state.limitsHit.insert(limit) }
        }
    }

    /// Takes what the test has attached since the last time.
    func spoolAttachments(of test: RunningTest, in spool: Spool) {
        let done = state.withLock(\.attachments.count)
        for (name, source) in test.state.withLock(\.attachments).dropFirst(done) {
            let safeName = SafeName.make(from: name, maximumBytes: 150)
            let stem = Path.stem(of: safeName)
            let entry = state.withLock { state in
                state.attachmentNames.claim(stem, suffix: String(safeName.dropFirst(stem.count)))
            }
            let attachment = spoolAttachment(
                source, named: name, entry: "attachments/\(entry)", in: spool)
            state.withLock { $0.attachments.append(attachment) }
        }
    }

    private func spoolAttachment(
        _ source: RunningTest.AttachmentSource, named name: String, entry: String, in spool: Spool
    ) -> BundleMetadata.Attachment {
        do {
            let size: UInt64 =
                switch source {
                case .bytes(let bytes): UInt64(bytes.count)
                case .file(let path): try File(sharing: path).size()
                }
            guard size <= remainingBytes else {
                state.withLock { state in
                    state.limitsHit.insert(Limit.totalBytes)
                    state.warnings.append(
                        "The attachment '\(name)' has \(size) bytes, more than the directory may still take."
                    )
                }
                return BundleMetadata.Attachment(name: name, entry: nil, bytes: size)
            }
            let target = try spool.path(ofEntry: entry)
            switch source {
            case .bytes(let bytes): try FileSystem.write(bytes, toNewFile: target)
            case .file(let path): try FileSystem.copy(path, toNewFile: target)
            }
            state.withLock { $0.spooledBytes += size }
            return BundleMetadata.Attachment(name: name, entry: entry, bytes: size)
        } catch {
            state.withLock { $0.warnings.append("The attachment '\(name)' was not kept: \(error).") }
            return BundleMetadata.Attachment(name: name, entry: nil, bytes: 0)
        }
    }
}

internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Copies of the stores of a test, made by another process than its own.
struct SalvagedCopies: Sendable {
    let spool: Spool
    private(set) var stores: [BundleMetadata.Store] = []
    private(set) var warnings: [String] = []
    private(set) var limitsHit: Set<String> = []
    /// Some of what was left out of them.
    private(set) var removed = RemovedValues()
    private let folder: String

    /// Copies the stores that a journal names.
    ///
    /// - Parameters:
    ///   - test: The test.
    ///   - spool: Where the copies go.
    ///   - folder: Where their entries are in the bundle.
    ///   - limits: What may be copied.
    ///   - rules: What may not be in the copies.
    init(
        of test: InFlightTest, in spool: Spool, below folder: String, limits: DirectoryLimits,
        obeying rules: RedactionRules
    ) {
        self.spool = spool
        self.folder = folder
        var names = UniqueNames()
        var remaining = limits.totalBytes
        for path in test.paths {
            let name = names.claim(
                SafeName.make(from: Path.stem(of: Path.name(of: path.path)), maximumBytes: 150))
            let maximum = min(limits.storeBytes, remaining)
            let store = copy(path, named: name, maximumBytes: maximum, rules)
            remaining -= min(remaining, store.bytes.copy ?? 0)
            stores.append(store)
        }
        if test.hasMemoryStores {
            warnings.append(
                "The test had stores in memory, whose content is gone with its process \(test.process.number)."
            )
        }
    }

    private mutating func copy(
        _ path: InFlightTest.Path, named name: String, maximumBytes: UInt64,
        _ rules: RedactionRules
    ) -> BundleMetadata.Store {
        let start = Instant.now
        let entries = StoreEntries(of: name, in: folder)
        var snapshot = Snapshot(storage: .file)
        var bytes: UInt64?
        do {
            let targets = Snapshotter.Targets(
                copy: try spool.path(ofEntry: entries.copy),
                committed: nil, raw: try spool.path(ofEntry: entries.raw),
                history: folder == "stores" ? try spool.path(ofEntry: entries.history) : nil)
            var snapshotter = Snapshotter(maximumBytes: maximumBytes)
            if rules.concernStores { snapshotter.redactor = StoreRedactor(rules) }
            if rules.leavesOutContent {
                snapshot.reason = RedactionRules.reasonForNoContent
            } else {
                snapshot = Forks.heldOff {
                    snapshotter.capture(DiscoveredStore(path: path.path), to: targets)
                }
                removed.add(snapshot.redaction?.removed ?? RemovedValues())
            }
            bytes = FileSystem.regularFile(targets.copy)?.size
        } catch {
            snapshot.reason = "\(error)."
        }
        if snapshot.excessiveBytes != nil { limitsHit.insert("FAILURE_ARTIFACTS_MAX_STORE_BYTES") }
        // Nobody saw what the test's connection saw.
        snapshot.isTransactionOpen = nil
        warnings += snapshot.warnings
        if let reason = snapshot.reason {
            warnings.append("The store '\(name)' was not copied. \(reason)")
        }
        return BundleMetadata.Store(
            snapshot, named: name, originalPath: path.path, isShared: path.isShared,
            duration: start.elapsed, entries: entries, bytes: bytes)
    }

    /// The same copies as those of another spool and folder.
    func moved(to other: Spool, below folder: String) -> SalvagedCopies {
        var result = SalvagedCopies(other, folder)
        result.warnings = warnings
        result.removed = removed
        result.limitsHit = limitsHit
        result.stores = stores.map { store in
            let (old, new) = (
                StoreEntries(of: store.name, in: self.folder), StoreEntries(of: store.name, in: folder)
            )
            var moved = store
            func move(_ entry: String, _ target: String) -> String? {
                guard let path = try? other.path(ofEntry: target),
                    (try? FileSystem.rename(spool.file(ofEntry: entry), to: path)) != nil
                else { return nil }
                return target
            }
            moved.entry = store.entry.flatMap { move($0, new.copy) }
            moved.history = nil
            moved.rawEntries = store.rawEntries.map { entries in
                entries.compactMap { move($0, new.raw + $0.dropFirst(old.raw.count)) }
            }
            return moved
        }
        spool.remove()
        return result
    }

    private init(_ spool: Spool, _ folder: String) {
        self.spool = spool
        self.folder = folder
    }
}

internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension FailureDetail {
    /// Reads a bundle.
    init(
        reading location: BundleLocation, passing: BundleLocation? = nil, scratch: String,
        _ limits: ReportLimits, checking invariants: [Invariant] = [], archive: ZipLimits
    ) throws {
        let directory = try FileSystem.createUniqueDirectory(in: scratch, prefix: "report-")
        defer { try? FileSystem.remove(directory) }
        let bundle = try BundleReader(
            location, scratchDirectory: directory, limits: archive)
        self.init(
            location: location,
            metadata: bundle.inspectedMetadata(below: directory, maximumBytes: limits.storeBytes),
            packageRoot: PackageRoot(bundle.metadata))
        excerpt = metadata.failures.first.flatMap {
            SourceExcerpt($0, below: Path.currentDirectory)
        }
        readAttachments(of: bundle, limits)
        var effort = Effort.standard
        (effort.stores, effort.storeBytes) = (limits.stores, limits.storeBytes)
        let evidence = FailureEvidence(
            bundle, scratch: directory, checking: invariants, effort: effort)
        notes += evidence.notes
        if metadata.outcome != .passed { addFindings(evidence, passing, scratch: directory, archive) }
        let rows = ReadingBudget(limits, bytes: limits.rowBytes)
        omittedStores = max(0, metadata.stores.count - limits.stores)
        for store in metadata.stores.prefix(limits.stores) {
            var detail = StoreDetail(store)
            detail.sqlite = bundle.writerVersion(of: store)
            if let known = evidence.stores.first(where: { $0.name == store.name }) {
                detail.read(known, rows)
            } else {
                detail.statements = StatementLines.applied(to: (try? bundle.statements(of: store)) ?? [])
            }
            stores.append(detail)
        }
    }

    private mutating func addFindings(
        _ evidence: FailureEvidence, _ passing: BundleLocation?, scratch: String, _ archive: ZipLimits
    ) {
        let other = Path.join(scratch, "passing")
        if let passing, (try? FileSystem.createDirectory(other)) != nil,
            let bundle = try? BundleReader(passing, scratchDirectory: other, limits: archive)
        {
            evidence.passing = FailureEvidence(bundle, scratch: other)
        }
        var explanation = Explanation(evidence, bundle: location.description)
        explanation.keepFirst(Explanation.standardCount)
        findings = explanation.findings
    }

    private mutating func readAttachments(of bundle: BundleReader, _ limits: ReportLimits) {
        var left = limits.attachmentBytes
        var toRead = UInt64(16 << 20)
        for attachment in metadata.attachments.prefix(50) {
            guard let name = attachment.entry, attachments[name] == nil,
                let entry = bundle.archive.entry(named: name),
                left > 0, entry.size <= toRead,
                let bytes = try? bundle.archive.contents(of: entry, limit: TextTail.maximumSize)
            else { continue }
            toRead -= entry.size
            let room = min(left, limits.oneAttachment)
            if bytes.count > room {
                guard
                    let tail = TextTail(of: bytes, lines: 200, maximumBytes: room, maximumLength: 2000)
                else { continue }
                let text = tail.lines.joined(separator: "\n")
                attachments[name] = .text(text, earlierLines: tail.earlierLines)
                left -= text.utf8.count
                continue
            }
            if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) {
                attachments[name] = .picture("data:image/png;base64," + JSONText.base64(bytes))
            } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
                attachments[name] = .picture("data:image/jpeg;base64," + JSONText.base64(bytes))
            } else if !bytes.contains(0), let text = StoredText.valid(bytes, isCut: false) {
                attachments[name] = .text(text, earlierLines: 0)
            } else {
                continue
            }
            left -= bytes.count
        }
    }
}

extension StoreDetail {
    /// Reads the steps and the tables of a store.
    fileprivate mutating func read(_ store: Timeline, _ budget: ReadingBudget) {
        do {
            // SQLite stores a database without tables as an empty file.
            let isEmpty = FileSystem.regularFile(store.path)?.size == 0
            if !isEmpty { coreData = try CoreDataStore.read(try Connection.untrusted(store.path)) }
            addSteps(of: store)
            if !isEmpty { try readTables(of: store.path, budget) }
        } catch {
            notes.append("The tables cannot be read. \(CommandError(error).description)")
        }
    }
}

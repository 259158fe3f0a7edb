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
        let isSmall =
            bundle.metadata.stores.count <= limits.stores
            && bundle.metadata.storeChoices.allSatisfy {
                bundle.size(ofEntry: $0.entry) ?? 0 <= limits.historyStoreBytes
            }
        self.init(
            location: location,
            metadata: isSmall ? bundle.inspectedMetadata(below: directory) : bundle.metadata,
            packageRoot: PackageRoot(bundle.metadata))
        excerpt = metadata.failures.first.flatMap {
            SourceExcerpt($0, below: Path.currentDirectory)
        }
        readAttachments(of: bundle, limits)
        let evidence =
            isSmall ? FailureEvidence(bundle, scratch: directory, checking: invariants) : nil
        if let evidence {
            notes += evidence.notes
            packageRoot = evidence.packageRoot
            if metadata.outcome != .passed {
                addFindings(evidence, passing, scratch: directory, archive)
            }
        }
        let rows = ReadingBudget(limits, bytes: limits.rowBytes)
        omittedStores = max(0, metadata.stores.count - limits.stores)
        let choices = metadata.storeChoices
        for store in metadata.stores.prefix(limits.stores) {
            var detail = StoreDetail(store)
            detail.sqlite = bundle.writerVersion(of: store)
            let choice = choices.first { !$0.isCommitted && $0.name == store.name }
            if let known = evidence?.stores.first(where: { $0.name == store.name }) {
                detail.read(known.path, known, rows)
            } else {
                detail.readStatements(of: bundle, limits)
                if let choice { detail.readCopy(of: bundle, choice, scratch: directory, rows) }
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
    /// The maximum number of bytes of statements that are read.
    private static let statementBytes = 16 << 20

    fileprivate mutating func readStatements(of bundle: BundleReader, _ limits: ReportLimits) {
        guard let name = store.statements?.entry else { return }
        guard let entry = bundle.archive.entry(named: name),
            let bytes = try? bundle.archive.contents(of: entry, limit: Self.statementBytes),
            let records = StatementRecord.records(in: Self.lastLines(limits.statements, of: bytes))
        else {
            notes.append("The statements in '\(name)' cannot be read.")
            return
        }
        statements = StatementLines.applied(to: records)
    }

    /// Returns the last lines of a text, so that a long text is not parsed as a whole.
    private static func lastLines(_ count: Int, of bytes: [UInt8]) -> [UInt8] {
        var left = count
        var start = bytes.endIndex
        if bytes.last == UInt8(ascii: "\n") { start -= 1 }
        while start > 0 {
            if bytes[start - 1] == UInt8(ascii: "\n") {
                left -= 1
                if left == 0 { break }
            }
            start -= 1
        }
        return Array(bytes[start...])
    }

    /// Reads a copy whose history isn't read.
    fileprivate mutating func readCopy(
        of bundle: BundleReader, _ choice: StoreChoice, scratch: String, _ budget: ReadingBudget
    ) {
        guard isSmall(choice.entry, of: bundle, budget.limits.storeBytes) else { return }
        if store.history?.entry != nil {
            notes.append("The history is not shown here: 'failure-artifacts history' has all of it.")
        }
        do {
            let path = try bundle.extract(choice, below: scratch)
            defer { try? FileSystem.remove(Path.directory(of: path)) }
            read(path, nil, budget)
        } catch {
            notes.append("The tables cannot be read. \(CommandError(error).description)")
        }
    }

    /// Reads the tables of a copy, after the steps if they are known.
    fileprivate mutating func read(_ path: String, _ evidence: Timeline?, _ budget: ReadingBudget) {
        do {
            // SQLite stores a database without tables as an empty file.
            let isEmpty = FileSystem.regularFile(path)?.size == 0
            if !isEmpty { coreData = try CoreDataStore.read(try Connection.untrusted(path)) }
            if let evidence { addSteps(of: evidence) }
            if !isEmpty { try readTables(of: path, budget) }
        } catch {
            notes.append("The tables cannot be read. \(CommandError(error).description)")
        }
    }

    private mutating func isSmall(_ name: String, of bundle: BundleReader, _ limit: UInt64) -> Bool {
        guard let size = bundle.size(ofEntry: name), size > limit else { return true }
        let note =
            "The copy has \(Counted.bytes(size)): too much for all of it to be shown here. "
            + (store.history?.entry == nil
                ? "'failure-artifacts open' has all of it."
                : "'failure-artifacts open' and 'history' have all of it.")
        if !notes.contains(note) { notes.append(note) }
        return false
    }
}

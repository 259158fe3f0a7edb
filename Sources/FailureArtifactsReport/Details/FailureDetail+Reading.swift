internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension FailureDetail {
    /// Reads a bundle.
    ///
    /// - Parameters:
    ///   - location: The bundle.
    ///   - scratch: An existing directory for temporary files, which are removed afterwards.
    ///   - limits: The limits for reading.
    ///   - archive: The limits for unpacking.
    /// - Throws: An error if the bundle cannot be opened. A problem with a store becomes a note instead.
    init(
        reading location: BundleLocation, scratch: String, _ limits: ReportLimits, archive: ZipLimits
    ) throws {
        let directory = try FileSystem.createUniqueDirectory(in: scratch, prefix: "report-")
        defer { try? FileSystem.remove(directory) }
        let bundle = try BundleReader(
            location, scratchDirectory: directory, limits: archive)
        self.init(location: location, metadata: bundle.metadata)
        readAttachments(of: bundle, limits)
        readFindings(of: bundle, scratch: directory, limits)
        let rows = ReadingBudget(limits, bytes: limits.rowBytes)
        let changes = ReadingBudget(limits, bytes: limits.changeBytes)
        let choices = metadata.storeChoices
        omittedStores = max(0, metadata.stores.count - limits.stores)
        for store in metadata.stores.prefix(limits.stores) {
            var detail = StoreDetail(store)
            detail.readStatements(of: bundle, limits)
            if let choice = choices.first(where: { !$0.isCommitted && $0.name == store.name }) {
                detail.readCopy(of: bundle, choice, scratch: directory, rows)
                // The changes that led to the tables have a time limit of their own, in case the tables take long.
                changes.deadline = Instant.now.advanced(bySeconds: limits.seconds / 2)
                detail.readChanges(
                    of: bundle, choice, choice.committed(among: choices), scratch: directory, changes)
            }
            stores.append(detail)
        }
    }

    /// Looks for findings, unless a store is too large for a page.
    private mutating func readFindings(of bundle: BundleReader, scratch: String, _ limits: ReportLimits)
    {
        guard metadata.outcome != .passed, metadata.stores.count <= limits.stores,
            metadata.storeChoices.allSatisfy({
                bundle.size(ofEntry: $0.entry) ?? 0 <= limits.historyStoreBytes
            })
        else { return }
        var explanation = Explanation(
            FailureEvidence(bundle, scratch: scratch, seconds: limits.seconds / 2),
            bundle: location.description, seconds: limits.seconds / 20)
        explanation.keepFirst(Explanation.standardCount)
        findings = explanation.findings
    }

    private mutating func readAttachments(of bundle: BundleReader, _ limits: ReportLimits) {
        var left = limits.attachmentBytes
        for attachment in metadata.attachments.prefix(50) {
            guard let name = attachment.entry, attachments[name] == nil,
                let entry = bundle.archive.entry(named: name),
                entry.size <= UInt64(min(left, limits.oneAttachment)),
                let bytes = try? bundle.archive.contents(of: entry, limit: limits.oneAttachment)
            else { continue }
            if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) {
                attachments[name] = .picture("data:image/png;base64," + JSONText.base64(bytes))
            } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
                attachments[name] = .picture("data:image/jpeg;base64," + JSONText.base64(bytes))
            } else if !bytes.contains(0), let text = StoredText.valid(bytes, isCut: false) {
                attachments[name] = .text(text)
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

    fileprivate mutating func readCopy(
        of bundle: BundleReader, _ choice: StoreChoice, scratch: String, _ budget: ReadingBudget
    ) {
        guard isSmall(choice.entry, of: bundle, budget.limits.storeBytes) else { return }
        do {
            let path = try bundle.extract(choice, below: scratch)
            defer { try? FileSystem.remove(Path.directory(of: path)) }
            // SQLite stores a database without tables as an empty file.
            guard FileSystem.regularFile(path)?.size != 0 else { return }
            try readTables(of: path, budget)
        } catch {
            notes.append("The tables cannot be read. \(CommandError(error).description)")
        }
    }

    fileprivate mutating func readChanges(
        of bundle: BundleReader, _ choice: StoreChoice, _ committed: StoreChoice?, scratch: String,
        _ budget: ReadingBudget
    ) {
        guard committed != nil || store.history?.entry != nil,
            isSmall(choice.entry, of: bundle, budget.limits.historyStoreBytes)
        else { return }
        if let committed {
            do {
                let old = try bundle.extract(committed, below: scratch)
                let new = try bundle.extract(choice, below: scratch)
                uncommitted = try ChangeDetail(from: old, to: new, budget)
            } catch {
                notes.append(
                    "What was not committed cannot be shown. \(CommandError(error).description)")
            }
        }
        guard store.history?.entry != nil else { return }
        do {
            try readHistory(of: bundle, choice, scratch: scratch, budget)
        } catch {
            notes.append("The history cannot be shown. \(CommandError(error).description)")
        }
    }

    private mutating func isSmall(_ name: String, of bundle: BundleReader, _ limit: UInt64) -> Bool {
        guard let size = bundle.size(ofEntry: name), size > limit else { return true }
        let note =
            "The copy has \(Counted.bytes(size)): too much for all of it to be shown here. "
            + "'failure-artifacts open' and 'history' have all of it."
        if !notes.contains(note) { notes.append(note) }
        return false
    }
}

internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

/// A failure with its stores: plain values, read from a bundle.
struct FailureDetail: Sendable {
    let location: BundleLocation
    let metadata: BundleMetadata
    /// The lines around the assertion; nil if the source isn't here.
    var excerpt: SourceExcerpt?
    /// The lines around the first finding's; nil if the source isn't here, or if they are the same.
    var culprit: SourceExcerpt?
    /// The first findings, best first.
    var findings: [Finding] = []
    /// The answer if no finding is more than possible; nil otherwise.
    var verdict: String?
    var stores: [StoreDetail] = []
    /// The content of attachments that can be shown, by their entries.
    var attachments: [String: AttachmentPreview] = [:]
    /// The number of stores that are not described, because there are too many.
    var omittedStores = 0
    /// The parts that could not be read or were cut, as full sentences.
    var notes: [String] = []

    var packageRoot: PackageRoot { PackageRoot(metadata) }

    /// The place of the first failure; nil if it is unknown.
    var place: String? {
        metadata.failures.first.flatMap { FailureText.place(of: $0, in: packageRoot) }
    }
}

/// The content of a small attachment, or the end of a text.
enum AttachmentPreview: Sendable {
    /// A text, or its end after some lines.
    case text(String, earlierLines: Int)
    /// A picture, as a `data:` address.
    case picture(String)
}

extension FailureDetail {
    /// Reads a bundle.
    init(
        reading location: BundleLocation, passing: BundleLocation? = nil, scratch: String,
        _ limits: ReportLimits, checking invariants: [Invariant] = [], archive: ZipLimits,
        checkout: Checkout? = nil
    ) throws {
        let directory = try FileSystem.createUniqueDirectory(in: scratch, prefix: "report-")
        defer { try? FileSystem.remove(directory) }
        let bundle = try BundleReader(
            location, scratchDirectory: directory, limits: archive)
        self.init(
            location: location,
            metadata: bundle.inspectedMetadata(below: directory, maximumBytes: limits.storeBytes))
        excerpt = metadata.failures.first.flatMap { excerpt(of: $0.file, $0.line) }
        readAttachments(of: bundle, limits)
        var effort = Effort.standard
        (effort.stores, effort.storeBytes) = (limits.stores, limits.storeBytes)
        let evidence = FailureEvidence(
            bundle, scratch: directory, checking: invariants, effort: effort)
        notes += evidence.notes
        if metadata.outcome != .passed {
            addFindings(evidence, passing, scratch: directory, archive, checkout)
        }
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
        _ evidence: FailureEvidence, _ passing: BundleLocation?, scratch: String, _ archive: ZipLimits,
        _ checkout: Checkout?
    ) {
        let other = Path.join(scratch, "passing")
        if let passing, !evidence.hasBaseline, (try? FileSystem.createDirectory(other)) != nil,
            let bundle = try? BundleReader(passing, scratchDirectory: other, limits: archive)
        {
            evidence.passing = FailureEvidence(bundle, scratch: other)
        }
        var explanation = Explanation(evidence, bundle: location.description)
        explanation.keepFirst(Explanation.standardCount)
        if let checkout { explanation.add(checkout) }
        (findings, verdict) = (explanation.findings, explanation.verdict)
        if let source = findings.first?.source {
            let found = excerpt(
                of: metadata.packageRoot.map { Path.join($0, source.file) } ?? source.file, source.line)
            culprit = found == excerpt ? nil : found
        }
    }

    private func excerpt(of file: String?, _ line: Int?) -> SourceExcerpt? {
        metadata.failures.first.flatMap {
            SourceExcerpt(file: file, line: line, before: $0, below: Path.currentDirectory)
        }
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

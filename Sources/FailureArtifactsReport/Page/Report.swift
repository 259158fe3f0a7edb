package import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSystem

/// A report, made cause by cause: the stores of only some causes are read at a time.
package struct Report: WrittenText {
    /// The page's name in a directory of bundles.
    package static let fileName = "report.html"

    let page: ReportPage
    let limits: ReportLimits
    let scratch: String
    private let invariants: [Invariant]
    var folder = PageFolder(ofPage: nil)
    /// The limits for unpacking bundles.
    var archive = ZipLimits.standard
    /// The checkout in the working directory; nil without Git.
    var checkout: Checkout?
    /// Called before the next bundles are read.
    var start: () -> Void = {}

    package init(
        page: ReportPage, limits: ReportLimits, scratch: String, checking invariants: [Invariant] = [],
        folder: PageFolder = PageFolder(ofPage: nil),
        archive: ZipLimits = ZipLimits.standard,
        checkout: Checkout? = nil, start: @escaping () -> Void = {}
    ) {
        self.page = page
        self.limits = limits
        self.scratch = scratch
        self.invariants = invariants
        self.folder = folder
        self.archive = archive
        self.checkout = checkout
        self.start = start
    }

    package func write(_ write: (String) throws -> Void) throws {
        var described: [DescribedCause] = []
        var size = 0
        let causes = Array(page.causes.prefix(ReportLimits.describedCauses).enumerated())
        let step = 4 * Threads.cores
        for start in stride(from: 0, to: causes.count, by: step) {
            self.start()
            let part = Array(causes[start..<min(start + step, causes.count)])
            let isFull = size > ReportLimits.pageBytes
            let (limits, scratch, archive, invariants) = (limits, scratch, archive, invariants)
            let (page, folder, checkout) = (page, folder, checkout)
            let new = Threads.map(part) { (number, cause) -> DescribedCause in
                var detail: FailureDetail?
                var problem: String?
                if isFull {
                    problem =
                        "The page has reached its full size: 'failure-artifacts show' has more of this."
                } else {
                    do {
                        detail = try FailureDetail(
                            reading: cause.first.location, passing: page.passing(cause.first),
                            scratch: scratch, limits, checking: invariants, archive: archive,
                            checkout: number < ReportLimits.causesWithCommits ? checkout : nil)
                    } catch {
                        problem = CommandError(error).description
                    }
                }
                var blocks = DataBlocks(prefix: "b\(number + 1)-", limit: limits.dataBytes)
                let outline = detail.flatMap {
                    (try? StoreData($0, folder: folder).add(to: &blocks)) ?? nil
                }
                let section = FailureSection(
                    number: number + 1, cause: cause, detail: detail, problem: problem,
                    hasShards: page.hasShards, folder: folder, outline: outline)
                return DescribedCause(
                    number: number + 1, cause: cause, findings: detail?.findings ?? [],
                    place: detail?.place,
                    html: section.html, blocks: blocks.html)
            }
            size += new.reduce(0) { $0 + $1.html.utf8.count }
            described += new
        }
        described.sort { $0.comes(before: $1) }
        try write(page.head(groups: described.grouped { $0.reason?.key }.count))
        try write(page.list(described))
        try write(page.mainStart)
        for cause in described { try write(cause.html) }
        try write("</main>\n</div>\n")
        // The script shows the first failure of the list before the browser has read the data of the others.
        let first = CauseGroup.groups(of: described).first?.causes.first?.number
        for cause in described where cause.number == first { try write(cause.blocks) }
        try write(page.foot)
        for cause in described where cause.number != first { try write(cause.blocks) }
        try write(page.end)
    }
}

/// A cause as the page describes it.
struct DescribedCause: Sendable {
    /// The number on the page, from 1.
    let number: Int
    let cause: ReportedFailure
    let findings: [Finding]
    /// The place of the first failure; nil if it is unknown.
    let place: String?
    /// The reason that it may have in common with others.
    var reason: CauseReason? {
        CauseReason(findings.first, place: place, message: cause.first.headline)
    }
    /// True if it comes before another one on the page: the best finding, then the frequency, then the time decide.
    func comes(before other: DescribedCause) -> Bool {
        let (mine, others) = (findings.first?.confidence, other.findings.first?.confidence)
        if mine != others { return others.map { mine ?? .possible > $0 } ?? true }
        let (count, otherCount) = (cause.bundles.count, other.cause.bundles.count)
        return count == otherCount ? cause.first.at < other.cause.first.at : count > otherCount
    }

    let html: String
    /// The data for the page's script.
    let blocks: String
}

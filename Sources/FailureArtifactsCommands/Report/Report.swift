internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// A report, made cause by cause: only some of them are in memory at a time.
struct Report: WrittenText {
    let page: ReportPage
    let limits: ReportLimits
    let scratch: String
    /// Where the page is going to lie.
    var folder = PageFolder(ofPage: nil)
    var progress: ProgressBar?
    /// How much is unpacked.
    var archive = ZipLimits.standard
    /// Called before some more bundles are read.
    var start: () -> Void = {}

    /// Writes the page.
    ///
    /// - Parameter write: Takes a piece of it.
    /// - Throws: What `write` throws; what cannot be read is said on the page.
    func write(_ write: (String) throws -> Void) throws {
        var size = 0
        func append(_ text: String) throws {
            size += text.utf8.count
            try write(text)
        }
        try append(page.head)
        let described = Array(page.causes.prefix(ReportLimits.describedCauses).enumerated())
        let isOpen = page.causes.count <= 2
        let step = 4 * Threads.cores
        let (limits, archive, scratch, hasShards) = (limits, archive, scratch, page.hasShards)
        let folder = folder
        let attempts = AttemptSeries.series(of: page.causes, passed: page.passed)
        defer { progress?.clear() }
        for start in stride(from: 0, to: described.count, by: step) {
            self.start()
            let part = Array(described[start..<min(start + step, described.count)])
            let isFull = size > ReportLimits.pageBytes
            progress?.show("Describing", done: start, total: described.count)
            let texts = Threads.map(part) { number, cause in
                var detail: FailureDetail?
                var problem: String?
                if isFull {
                    problem =
                        "The page has reached its full size: 'failure-artifacts show' has more of this."
                } else {
                    do {
                        detail = try FailureDetail(
                            reading: cause.first.location, scratch: scratch, limits,
                            archive: archive)
                    } catch {
                        problem = CommandError(error).description
                    }
                }
                let series = attempts[number]
                var comparison: AttemptComparison?
                if let series, series.number == number, !isFull {
                    comparison = AttemptComparison(reading: series, scratch: scratch, limits)
                }
                return FailureSection(
                    number: number + 1, cause: cause, detail: detail, problem: problem,
                    hasShards: hasShards, folder: folder, isOpen: isOpen, attempts: series,
                    comparison: comparison
                ).html
            }
            for text in texts { try append(text) }
        }
        try append(page.foot)
    }
}

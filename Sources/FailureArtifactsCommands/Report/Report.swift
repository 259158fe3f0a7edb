internal import FailureArtifactsSystem

/// A report, made cause by cause: only some of them are in memory at a time.
struct Report {
    let page: ReportPage
    let limits: ReportLimits
    let scratch: String

    /// Writes the page.
    ///
    /// - Parameter write: Takes a piece of it.
    /// - Throws: What `write` throws; what cannot be read is said on the page.
    func write(_ write: (String) throws -> Void) throws {
        try write(page.head)
        let described = Array(page.causes.prefix(ReportLimits.describedCauses).enumerated())
        let isOpen = page.causes.count <= 2
        let step = 4 * Threads.cores
        let (limits, scratch, hasShards) = (limits, scratch, page.hasShards)
        for start in stride(from: 0, to: described.count, by: step) {
            let part = Array(described[start..<min(start + step, described.count)])
            let texts = Threads.map(part) { number, cause in
                var detail: FailureDetail?
                var problem: String?
                do {
                    detail = try FailureDetail(
                        reading: cause.first.location, scratch: scratch, limits)
                } catch {
                    problem = CommandError(error).description
                }
                return FailureSection(
                    number: number + 1, cause: cause, detail: detail, problem: problem,
                    hasShards: hasShards, isOpen: isOpen
                ).html
            }
            for text in texts { try write(text) }
        }
        try write(page.foot)
    }
}

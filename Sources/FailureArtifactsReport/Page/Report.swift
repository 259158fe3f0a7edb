internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading
internal import FailureArtifactsSystem
package import FailureArtifactsZip

/// A report, made cause by cause: only some of them are in memory at a time.
package struct Report: WrittenText {
    /// The page's name in a directory of bundles.
    package static let fileName = "report.html"

    let page: ReportPage
    let limits: ReportLimits
    let scratch: String
    /// Where the page is going to lie.
    var folder = PageFolder(ofPage: nil)
    /// Called with the number of causes that are described, and with that of all.
    var progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    /// How much is unpacked.
    var archive = ZipLimits.standard
    /// Called before some more bundles are read.
    var start: () -> Void = {}

    package init(
        page: ReportPage, limits: ReportLimits, scratch: String,
        folder: PageFolder = PageFolder(ofPage: nil),
        progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in },
        archive: ZipLimits = ZipLimits.standard, start: @escaping () -> Void = {}
    ) {
        self.page = page
        self.limits = limits
        self.scratch = scratch
        self.folder = folder
        self.progress = progress
        self.archive = archive
        self.start = start
    }

    /// Writes the page.
    ///
    /// - Parameter write: Takes a piece of it.
    /// - Throws: What `write` throws; what cannot be read is said on the page.
    package func write(_ write: (String) throws -> Void) throws {
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
        for start in stride(from: 0, to: described.count, by: step) {
            self.start()
            let part = Array(described[start..<min(start + step, described.count)])
            let isFull = size > ReportLimits.pageBytes
            progress(start, described.count)
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

/// Where the page lies.
///
/// What is in the same directory, or below it, is named from there: the page and the bundles go from a CI to whoever
/// downloads them together, and its commands are of use in both places.
package struct PageFolder: Sendable {
    /// Absolute; nil where the page has no place.
    private let path: String?

    /// - Parameter page: The page's path; nil where it goes to standard output.
    package init(ofPage page: String?) {
        path = page.map { Path.directory(of: Path.absolute($0)) }
    }

    /// How the page names a bundle.
    ///
    /// - Parameter location: Where the bundle is, as it was found.
    /// - Returns: The same where the bundle is elsewhere.
    func location(of location: BundleLocation) -> BundleLocation {
        guard let path = relative(location) else { return location }
        return BundleLocation(path: path, inner: location.inner)
    }

    /// Whether the page names a bundle from its own directory.
    func holds(_ location: BundleLocation) -> Bool { relative(location) != nil }

    private func relative(_ location: BundleLocation) -> String? {
        guard let path else { return nil }
        let absolute = Path.absolute(location.path)
        let relative = Path.relative(absolute, to: path)
        return relative == absolute ? nil : relative
    }
}

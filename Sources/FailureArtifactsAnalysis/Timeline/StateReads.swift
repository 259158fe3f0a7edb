internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The pages that queries read in one state of a store, for telling whether they have the same results in the next one.
struct StateReads: ~Copyable {
    private let pages: PageReads?
    private let seesHeader: Bool
    /// The parts of the first page that a query may depend on; nil before the first state.
    private var firstPage: [UInt8]?

    ///
    /// - `pageSize`: the page size of the store, in bytes.
    /// - `seesHeader`: true if the queries may read fields of the header that change with most transactions.
    ///   Only pragmas can.
    init(pageSize: Int, seesHeader: Bool = false) {
        pages = PageReads(pageSize: pageSize)
        self.seesHeader = seesHeader
    }

    /// Returns the name of the VFS for the connections, each of which is for one state; nil for the system's own.
    borrowing func vfs() -> String? { pages?.vfs() }

    /// Begins with a state.
    ///
    /// False if the queries have the same results as in the state before. Otherwise the recorded pages are
    /// forgotten, and the queries must run.
    ///
    /// - `changed`: the pages that differ from the state before; nil if any may.
    mutating func begin(in path: String, changed: [UInt32]?) throws(SystemError) -> Bool {
        let isFirst = firstPage == nil
        var isAffected = isFirst || changed == nil
        if isAffected || changed?.contains(1) ?? true {
            let page = try firstPage(of: path)
            if page != firstPage { isAffected = true }
            firstPage = page
        }
        if !isAffected, let changed {
            isAffected = changed.contains { $0 > 1 && pages?.contains($0) ?? true }
        }
        if isAffected { pages?.clear() }
        return isAffected
    }

    /// Returns the first page, without the fields that change with most transactions.
    private borrowing func firstPage(of path: String) throws(SystemError) -> [UInt8] {
        var page = try File(reading: path).bytes(Int(UInt16.max) + 1, at: 0)
        let size = page.count >= 18 ? Int(page[16]) << 8 | Int(page[17]) : 0
        if size > 1 { page.removeSubrange(min(size, page.count)...) }
        guard page.count >= 100, !seesHeader else { return page }
        // The change counter, the sizes of the database and of the freelist, and the version of SQLite
        // (https://www.sqlite.org/fileformat2.html#the_database_header).
        for index in Array(24..<40) + Array(92..<100) { page[index] = 0 }
        return page
    }
}

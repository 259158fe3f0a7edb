internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// An open history file.
///
/// Its content is untrusted. The index is in memory and takes at most 1/129 of the file's size. Pages are read on
/// demand.
package struct HistoryReader: ~Copyable, Sendable {
    package struct Transaction: Sendable, Equatable {
        /// The size of the database after the transaction, in pages.
        package let databaseSize: UInt32
        /// The numbers of the pages that it wrote.
        package let pages: [UInt32]
        /// The index of the first image of these pages.
        let firstImage: Int
    }

    private let file: File
    private let source: HistorySource
    private let layout: HistoryLayout
    /// The pages of state 0 that have images.
    private let initialPages: [UInt32]
    package let transactions: [Transaction]

    package var pageSize: Int { layout.pageSize }

    /// Opens a history file and reads its index.
    ///
    /// - `entry` and `bundle`: the names for errors; the file's path by default.
    package init(path: String, entry: String? = nil, of bundle: String? = nil) throws(BundleError) {
        let source = HistorySource(entry: entry ?? path, bundle: bundle ?? path)
        let file = try source.reading { () throws(SystemError) in try File(reading: path) }
        let size = try source.reading { () throws(SystemError) in try file.size() }
        let header = try Self.read(file, source, count: HistoryLayout.headerSize, at: 0)
        let layout = try Self.layout(header, fileSize: size, source)
        let initialPages = HistoryLayout.numbers(
            in: try Self.read(
                file, source, count: 4 * layout.initialPageCount, at: UInt64(HistoryLayout.headerSize)))
        let sizes = HistoryLayout.numbers(
            in: try Self.read(
                file, source, count: 8 * layout.transactionCount, at: layout.transactionsOffset))
        let pages = HistoryLayout.numbers(
            in: try Self.read(
                file, source, count: 4 * layout.changedPageCount, at: layout.changedPagesOffset))
        let transactions = try Self.transactions(
            sizes, pages, firstImage: initialPages.count, source)
        var seen: Set<UInt32> = []
        for page in initialPages {
            guard page > 0, page <= layout.initialSize, seen.insert(page).inserted else {
                throw source.damaged("page \(page) of state 0 is out of range or listed twice")
            }
        }
        // The pages of a state beyond the last state's size need images. Without this check, a file of a few
        // bytes could rebuild to 256 TiB.
        let images = UInt64(layout.initialPageCount) + UInt64(layout.changedPageCount)
        // The lock-byte page has no image.
        let largest = UInt64(transactions.last?.databaseSize ?? 0) + images + 1
        for (state, size) in ([layout.initialSize] + transactions.map(\.databaseSize)).enumerated()
        where UInt64(size) > largest {
            throw source.damaged("state \(state) has \(size) pages, and most of them have no image")
        }
        self.file = file
        self.source = source
        self.layout = layout
        self.initialPages = initialPages
        self.transactions = transactions
    }

    private static func layout(
        _ header: [UInt8], fileSize: UInt64, _ source: HistorySource
    ) throws(BundleError) -> HistoryLayout {
        guard header.starts(with: HistoryLayout.magic) else {
            throw source.damaged("it does not start with 'WAL-hist'")
        }
        let numbers = HistoryLayout.numbers(in: header)
        guard numbers[2] == HistoryLayout.version else {
            guard numbers[2] > HistoryLayout.version else {
                throw source.damaged("its format version is \(numbers[2])")
            }
            throw source.error(
                "has format version \(numbers[2]), and this reads version \(HistoryLayout.version): use a newer "
                    + "failure-artifacts")
        }
        guard isPageSize(numbers[3]) else {
            throw source.damaged("\(numbers[3]) is not a page size")
        }
        let initialPages = UInt64(numbers[6]) | UInt64(numbers[7]) << 32
        let changedPages = UInt64(numbers[8]) | UInt64(numbers[9]) << 32
        // A count can't exceed the file's size. This check prevents overflows and useless allocations.
        guard numbers[5] > 0, UInt64(numbers[5]) <= fileSize, initialPages <= fileSize,
            changedPages <= fileSize, fileSize < 1 << 48
        else {
            throw source.damaged("its counts contradict its size")
        }
        let layout = HistoryLayout(
            pageSize: Int(numbers[3]), initialSize: numbers[4], transactionCount: Int(numbers[5]),
            initialPageCount: Int(initialPages), changedPageCount: Int(changedPages))
        guard layout.fileSize == fileSize else {
            throw source.damaged("it has \(fileSize) bytes, but its counts require \(layout.fileSize)")
        }
        return layout
    }

    private static func transactions(
        _ sizes: [UInt32], _ pages: [UInt32], firstImage: Int, _ source: HistorySource
    ) throws(BundleError) -> [Transaction] {
        var transactions: [Transaction] = []
        var start = 0
        for index in stride(from: 0, to: sizes.count, by: 2) {
            let count = Int(sizes[index + 1])
            guard count > 0, count <= pages.count - start, sizes[index] > 0 else {
                throw source.damaged("transaction \(index / 2 + 1) has a wrong size")
            }
            let written = Array(pages[start..<(start + count)])
            guard !written.contains(0), Set(written).count == count else {
                throw source.damaged("transaction \(index / 2 + 1) has a page twice")
            }
            transactions.append(
                Transaction(
                    databaseSize: sizes[index], pages: written, firstImage: firstImage + start))
            start += count
        }
        guard start == pages.count else {
            throw source.damaged("\(pages.count - start) pages belong to no transaction")
        }
        return transactions
    }

    private static func read(
        _ file: borrowing File, _ source: HistorySource, count: Int, at offset: UInt64
    ) throws(BundleError) -> [UInt8] {
        let bytes = try source.reading { () throws(SystemError) in
            try file.bytes(count, at: offset)
        }
        guard bytes.count == count else { throw source.damaged("it ends too early") }
        return bytes
    }

    func readImage(
        _ index: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BundleError) {
        let count = try source.reading { () throws(SystemError) in
            try file.read(into: buffer, at: layout.offset(ofImage: index))
        }
        guard count == buffer.count else { throw source.damaged("it ends too early") }
    }

    package func databaseSize(of state: Int) -> UInt32 {
        state == 0 ? layout.initialSize : transactions[state - 1].databaseSize
    }

    package func state(of commit: CommitReference) throws(BundleError) -> Int {
        guard let state = commit.state(of: transactions.count) else {
            throw BundleError(
                source.bundle, .noSuchCommit(source.entry, commit.description, transactions.count))
        }
        return state
    }

    /// Returns a state's image for each page that may differ from the last state.
    func images(of state: Int) throws(BundleError) -> [UInt32: Int] {
        var images: [UInt32: Int] = [:]
        for (index, page) in initialPages.enumerated() { images[page] = index }
        for transaction in transactions[..<state] {
            for (index, page) in transaction.pages.enumerated() {
                images[page] = transaction.firstImage + index
            }
        }
        let size = databaseSize(of: state)
        for transaction in transactions[state...] {
            for page in transaction.pages where page <= size && images[page] == nil {
                throw source.damaged("page \(page) has no image for state \(state)")
            }
        }
        return images.filter { $0.key <= size }
    }
}

extension HistoryLayout {
    static func numbers(in bytes: [UInt8]) -> [UInt32] {
        [UInt32](unsafeUninitializedCapacity: bytes.count / 4) { buffer, count in
            count = bytes.count / 4
            UnsafeMutableRawBufferPointer(buffer).copyBytes(from: bytes.prefix(count * 4))
        }.map { UInt32(littleEndian: $0) }
    }
}

extension HistoryReader {
    /// Rebuilds a state of the store.
    ///
    /// - `copy`: the stand-alone copy of the last state. If there are two copies, it is the committed one.
    /// - `path`: the path of the new file, which must not exist. The file needs no other file beside it.
    package func rebuild(
        at state: Int, from copy: String, to path: String
    ) throws(BundleError) {
        guard (0...transactions.count).contains(state) else {
            throw BundleError(
                source.bundle,
                .noSuchCommit(source.entry, String(state), transactions.count))
        }
        try checkCopy(copy)
        let images = state == transactions.count ? [:] : try images(of: state)
        try checkPages(images, in: state)
        try source.reading { () throws(SystemError) in
            try FileSystem.copy(copy, toNewFile: path)
        }
        do throws(BundleError) {
            try write(images, databaseSize: databaseSize(of: state), to: path)
        } catch {
            try? FileSystem.remove(path)
            throw error
        }
    }

    /// Changes a rebuilt file to the next state; this is cheaper than rebuilding that state.
    package func advance(_ path: String, from state: Int) throws(BundleError) {
        let transaction = transactions[state]
        var images: [UInt32: Int] = [:]
        for (index, page) in transaction.pages.enumerated() where page <= transaction.databaseSize {
            images[page] = transaction.firstImage + index
        }
        try write(images, databaseSize: transaction.databaseSize, to: path)
    }

    /// Checks that the copy can be the last state, by its size.
    private func checkCopy(_ copy: String) throws(BundleError) {
        let size = UInt64(pageSize) * UInt64(databaseSize(of: transactions.count))
        let found = try source.reading { () throws(SystemError) in
            try File(reading: copy).size()
        }
        guard found == size else {
            throw source.error(
                "belongs to another copy of the store: it is for one of \(size) bytes, and '\(copy)' has \(found)"
            )
        }
    }

    /// Checks that every page of a state has an image or is in the copy.
    private func checkPages(_ images: [UInt32: Int], in state: Int) throws(BundleError) {
        let copied = databaseSize(of: transactions.count)
        let size = databaseSize(of: state)
        guard size > copied else { return }
        // SQLite never writes the lock-byte page
        // (https://www.sqlite.org/fileformat2.html#the_lock_byte_page).
        let unused = lockBytePage(ofPageSize: pageSize)
        let hasLockBytes = (copied + 1...size).contains(unused) && images[unused] == nil
        let present = images.keys.count { $0 > copied } + (hasLockBytes ? 1 : 0)
        guard present == Int(size - copied) else {
            throw source.damaged("pages after \(copied) have no image for state \(state)")
        }
    }

    private func write(
        _ images: [UInt32: Int], databaseSize: UInt32, to path: String
    ) throws(BundleError) {
        do {
            let file = try File(updating: path)
            var page = [UInt8](repeating: 0, count: pageSize)
            for (number, image) in images.sorted(by: { $0.value < $1.value }) {
                try page.withMutableBytes { (buffer) throws(BundleError) in
                    try readImage(image, into: buffer)
                }
                try page.withBytes { (buffer) throws(SystemError) in
                    try file.write(buffer, at: UInt64(number - 1) * UInt64(pageSize))
                }
            }
            try file.resize(to: UInt64(databaseSize) * UInt64(pageSize))
            // Set the write and read versions to those of a file without WAL, because it stands alone
            // (https://www.sqlite.org/fileformat2.html#file_format_version_numbers).
            if databaseSize > 0 {
                try [1, 1].withBytes { (buffer) throws(SystemError) in try file.write(buffer, at: 18) }
            }
            try file.close()
        } catch let error as SystemError {
            throw BundleError(source.bundle, .system(error))
        } catch {
            throw error as? BundleError ?? source.damaged("\(error)")
        }
    }
}

/// The names of a history for errors.
private struct HistorySource {
    let entry: String
    let bundle: String

    func damaged(_ clause: String) -> BundleError { error("is damaged: \(clause)") }

    func error(_ clause: String) -> BundleError { BundleError(bundle, .badHistory(entry, clause)) }

    func reading<Result: ~Copyable>(
        _ body: () throws(SystemError) -> Result
    ) throws(BundleError) -> Result {
        do {
            return try body()
        } catch {
            throw BundleError(bundle, .system(error))
        }
    }
}

internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// An open history file.
///
/// Its content is untrusted.
///
/// The index is in memory and takes at most 1/129 of the file's size. Pages are read on demand.
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
    private let layout: HistoryLayout
    /// The pages of state 0 that have images.
    private let initialPages: [UInt32]
    /// The transactions, oldest first.
    package let transactions: [Transaction]

    /// The page size, in bytes.
    package var pageSize: Int { layout.pageSize }
    package var path: String { file.path }

    /// Opens a history file and reads its index.
    package init(path: String) throws(HistoryError) {
        let file = try HistoryError.wrapping { () throws(SystemError) in try File(reading: path) }
        let size = try HistoryError.wrapping { () throws(SystemError) in try file.size() }
        let header = try Self.read(file, count: HistoryLayout.headerSize, at: 0)
        let layout = try Self.layout(header, fileSize: size, path: path)
        let initialPages = HistoryLayout.numbers(
            in: try Self.read(
                file, count: 4 * layout.initialPageCount, at: UInt64(HistoryLayout.headerSize)))
        let sizes = HistoryLayout.numbers(
            in: try Self.read(file, count: 8 * layout.transactionCount, at: layout.transactionsOffset))
        let pages = HistoryLayout.numbers(
            in: try Self.read(file, count: 4 * layout.changedPageCount, at: layout.changedPagesOffset))
        let transactions = try Self.transactions(
            sizes, pages, firstImage: initialPages.count, path: path)
        var seen: Set<UInt32> = []
        for page in initialPages {
            guard page > 0, page <= layout.initialSize, seen.insert(page).inserted else {
                throw HistoryError(
                    path, .damaged("page \(page) of state 0 is out of range or listed twice"))
            }
        }
        // The pages of a state beyond the last state's size need images. Without this check, a file of a few
        // bytes could rebuild to 256 TiB.
        let images = UInt64(layout.initialPageCount) + UInt64(layout.changedPageCount)
        // The lock-byte page has no image.
        let largest = UInt64(transactions.last?.databaseSize ?? 0) + images + 1
        for (state, size) in ([layout.initialSize] + transactions.map(\.databaseSize)).enumerated()
        where UInt64(size) > largest {
            throw HistoryError(
                path, .damaged("state \(state) has \(size) pages, and most of them have no image"))
        }
        self.file = file
        self.layout = layout
        self.initialPages = initialPages
        self.transactions = transactions
    }

    private static func layout(
        _ header: [UInt8], fileSize: UInt64, path: String
    ) throws(HistoryError) -> HistoryLayout {
        guard header.starts(with: HistoryLayout.magic) else {
            throw HistoryError(path, .damaged("it does not start with 'WAL-hist'"))
        }
        let numbers = HistoryLayout.numbers(in: header)
        guard numbers[2] == HistoryLayout.version else {
            guard numbers[2] > HistoryLayout.version else {
                throw HistoryError(path, .damaged("its format version is \(numbers[2])"))
            }
            throw HistoryError(path, .newerVersion(numbers[2]))
        }
        guard isPageSize(numbers[3]) else {
            throw HistoryError(path, .damaged("\(numbers[3]) is not a page size"))
        }
        let initialPages = UInt64(numbers[6]) | UInt64(numbers[7]) << 32
        let changedPages = UInt64(numbers[8]) | UInt64(numbers[9]) << 32
        // A count can't exceed the file's size. This check prevents overflows and useless allocations.
        guard numbers[5] > 0, UInt64(numbers[5]) <= fileSize, initialPages <= fileSize,
            changedPages <= fileSize, fileSize < 1 << 48
        else {
            throw HistoryError(path, .damaged("its counts contradict its size"))
        }
        let layout = HistoryLayout(
            pageSize: Int(numbers[3]), initialSize: numbers[4], transactionCount: Int(numbers[5]),
            initialPageCount: Int(initialPages), changedPageCount: Int(changedPages))
        guard layout.fileSize == fileSize else {
            throw HistoryError(
                path, .damaged("it has \(fileSize) bytes, but its counts require \(layout.fileSize)"))
        }
        return layout
    }

    private static func transactions(
        _ sizes: [UInt32], _ pages: [UInt32], firstImage: Int, path: String
    ) throws(HistoryError) -> [Transaction] {
        var transactions: [Transaction] = []
        var start = 0
        for index in stride(from: 0, to: sizes.count, by: 2) {
            let count = Int(sizes[index + 1])
            guard count > 0, count <= pages.count - start, sizes[index] > 0 else {
                throw HistoryError(path, .damaged("transaction \(index / 2 + 1) has a wrong size"))
            }
            let written = Array(pages[start..<(start + count)])
            guard !written.contains(0), Set(written).count == count else {
                throw HistoryError(path, .damaged("transaction \(index / 2 + 1) has a page twice"))
            }
            transactions.append(
                Transaction(
                    databaseSize: sizes[index], pages: written, firstImage: firstImage + start))
            start += count
        }
        guard start == pages.count else {
            throw HistoryError(path, .damaged("\(pages.count - start) pages belong to no transaction"))
        }
        return transactions
    }

    private static func read(
        _ file: borrowing File, count: Int, at offset: UInt64
    ) throws(HistoryError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let done: Int
        do {
            done = try bytes.withMutableBytes { (buffer) throws(SystemError) in
                try file.read(into: buffer, at: offset)
            }
        } catch {
            throw HistoryError(file.path, .system(error))
        }
        guard done == count else { throw HistoryError(file.path, .damaged("it ends too early")) }
        return bytes
    }

    func readImage(
        _ index: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(HistoryError) {
        let count: Int
        do {
            count = try file.read(into: buffer, at: layout.offset(ofImage: index))
        } catch {
            throw HistoryError(path, .system(error))
        }
        guard count == buffer.count else { throw HistoryError(path, .damaged("it ends too early")) }
    }

    /// Returns the size of a state, in pages.
    package func databaseSize(of state: Int) -> UInt32 {
        state == 0 ? layout.initialSize : transactions[state - 1].databaseSize
    }

    /// Returns the state that a reference refers to.
    package func state(of commit: CommitReference) throws(HistoryError) -> Int {
        guard let state = commit.state(of: transactions.count) else {
            throw HistoryError(path, .noSuchCommit(commit, transactions.count))
        }
        return state
    }

    /// Returns a state's image for each page that may differ from the last state.
    func images(of state: Int) throws(HistoryError) -> [UInt32: Int] {
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
                throw HistoryError(path, .damaged("page \(page) has no image for state \(state)"))
            }
        }
        return images.filter { $0.key <= size }
    }
}

extension HistoryLayout {
    /// Returns the little-endian numbers in `bytes`.
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
    /// - `state`: the state, from 0 (before the first transaction) to the number of transactions.
    /// - `copy`: the stand-alone copy of the last state. If there are two copies, it is the committed one.
    /// - `path`: the path of the new file, which must not exist. The file needs no other file beside it.
    package func rebuild(
        at state: Int, from copy: String, to path: String
    ) throws(HistoryError) {
        guard (0...transactions.count).contains(state) else {
            throw HistoryError(self.path, .noSuchCommit(CommitReference(state), transactions.count))
        }
        try checkCopy(copy)
        let images = state == transactions.count ? [:] : try images(of: state)
        try checkPages(images, in: state)
        try HistoryError.wrapping { () throws(SystemError) in
            try FileSystem.copy(copy, toNewFile: path)
        }
        do throws(HistoryError) {
            try write(images, databaseSize: databaseSize(of: state), to: path)
        } catch {
            try? FileSystem.remove(path)
            throw error
        }
    }

    /// Changes a rebuilt file to the next state.
    ///
    /// This is cheaper than rebuilding that state.
    ///
    /// - `state`: the file's state, which must not be the last one.
    package func advance(_ path: String, from state: Int) throws(HistoryError) {
        let transaction = transactions[state]
        var images: [UInt32: Int] = [:]
        for (index, page) in transaction.pages.enumerated() where page <= transaction.databaseSize {
            images[page] = transaction.firstImage + index
        }
        try write(images, databaseSize: transaction.databaseSize, to: path)
    }

    /// Checks that the copy can be the last state, by its size.
    private func checkCopy(_ copy: String) throws(HistoryError) {
        let size = UInt64(pageSize) * UInt64(databaseSize(of: transactions.count))
        let found = try HistoryError.wrapping { () throws(SystemError) in
            try File(reading: copy).size()
        }
        guard found == size else {
            throw HistoryError(
                path, .foreignCopy("it is for one of \(size) bytes, and '\(copy)' has \(found)"))
        }
    }

    /// Checks that every page of a state has an image or is in the copy.
    private func checkPages(_ images: [UInt32: Int], in state: Int) throws(HistoryError) {
        let copied = databaseSize(of: transactions.count)
        let size = databaseSize(of: state)
        guard size > copied else { return }
        // SQLite never writes the lock-byte page
        // (https://www.sqlite.org/fileformat2.html#the_lock_byte_page).
        let lockBytePage = UInt32((1 << 30) / pageSize) + 1
        let hasLockBytes = (copied + 1...size).contains(lockBytePage) && images[lockBytePage] == nil
        let present = images.keys.count { $0 > copied } + (hasLockBytes ? 1 : 0)
        guard present == Int(size - copied) else {
            throw HistoryError(path, .damaged("pages after \(copied) have no image for state \(state)"))
        }
    }

    private func write(
        _ images: [UInt32: Int], databaseSize: UInt32, to path: String
    ) throws(HistoryError) {
        do {
            let file = try File(updating: path)
            var page = [UInt8](repeating: 0, count: pageSize)
            for (number, image) in images.sorted(by: { $0.value < $1.value }) {
                try page.withMutableBytes { (buffer) throws(HistoryError) in
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
        } catch let error as HistoryError {
            throw error
        } catch let error as SystemError {
            throw HistoryError(path, .system(error))
        } catch {
            throw HistoryError(path, .damaged("\(error)"))
        }
    }
}

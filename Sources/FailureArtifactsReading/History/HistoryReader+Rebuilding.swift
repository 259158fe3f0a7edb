internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

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

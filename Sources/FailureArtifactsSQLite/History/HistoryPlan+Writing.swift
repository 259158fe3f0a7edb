internal import FailureArtifactsSystem

extension HistoryPlan {
    /// Writes a history to a new file from start to end, using a buffer of bounded size.
    ///
    /// After an error, a partly written file stays.
    func write(_ content: Content, to path: String) throws(HistoryRecordingError) {
        var output = try Output(creating: path, pageSize: log.pageSize)
        try output.append(content.layout.header)
        try output.append(HistoryLayout.bytes(of: content.initialPages))
        let transactions = content.transactions.enumerated().flatMap { index, frames in
            [size(of: content.state + index + 1), UInt32(frames.count)]
        }
        try output.append(HistoryLayout.bytes(of: transactions))
        for frames in content.transactions {
            try output.append(HistoryLayout.bytes(of: frames.map { log.pages[Int($0)] }))
        }
        for page in content.initialPages {
            try output.appendPage { (buffer) throws(HistoryRecordingError) in
                guard try read(page, in: content.state, into: buffer) else {
                    let name = source.database.path
                    throw HistoryRecordingError(
                        name, .changed("the database '\(name)' became shorter meanwhile"))
                }
            }
            if output.isFull { try checkTime() }
        }
        for frame in content.transactions.joined() {
            try output.appendPage { (buffer) throws(HistoryRecordingError) in
                try source.readFrame(Int(frame), of: log, into: buffer)
            }
            if output.isFull { try checkTime() }
        }
        try output.close()
    }

    /// A new file that is written in large blocks.
    private struct Output: ~Copyable {
        private let file: File
        private var offset: UInt64 = 0
        private var pages: [UInt8]
        private var used = 0
        private let pageSize: Int

        init(creating path: String, pageSize: Int) throws(HistoryRecordingError) {
            file = try HistoryRecordingError.wrapping { () throws(SystemError) in
                try File(creating: path)
            }
            self.pageSize = pageSize
            // A multiple of every page size.
            pages = [UInt8](repeating: 0, count: 1 << 20)
        }

        /// True if the buffer is full, so that the next page starts a new block.
        var isFull: Bool { used == pages.count }

        /// Writes bytes that precede the pages.
        mutating func append(_ bytes: [UInt8]) throws(HistoryRecordingError) {
            try HistoryRecordingError.wrapping { () throws(SystemError) in
                try bytes.withBytes { (buffer) throws(SystemError) in
                    try file.write(buffer, at: offset)
                }
            }
            offset += UInt64(bytes.count)
        }

        /// Appends a page that `fill` reads.
        mutating func appendPage(
            _ fill: (UnsafeMutableRawBufferPointer) throws(HistoryRecordingError) -> Void
        ) throws(HistoryRecordingError) {
            if isFull { try flush() }
            let range = used..<(used + pageSize)
            try pages.withMutableBytes { (buffer) throws(HistoryRecordingError) in
                try fill(UnsafeMutableRawBufferPointer(rebasing: buffer[range]))
            }
            used += pageSize
        }

        private mutating func flush() throws(HistoryRecordingError) {
            let (count, start) = (used, offset)
            try HistoryRecordingError.wrapping { () throws(SystemError) in
                try pages.withBytes { (buffer) throws(SystemError) in
                    try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: start)
                }
            }
            offset += UInt64(count)
            used = 0
        }

        consuming func close() throws(HistoryRecordingError) {
            try flush()
            let path = file.path
            do {
                try file.close()
            } catch {
                throw HistoryRecordingError(path, .system(error))
            }
        }
    }
}

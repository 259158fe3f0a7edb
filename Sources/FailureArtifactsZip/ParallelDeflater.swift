internal import CFailureArtifactsZlib
internal import FailureArtifactsSystem

/// Compresses on all cores into one ordinary stream of deflate data.
///
/// As pigz does it (<https://zlib.net/pigz/pigz.pdf>): the content is cut into blocks, each is compressed by
/// itself, with the 32 KiB before it as its dictionary, and brought to a byte boundary by a sync flush, so that
/// the results can be joined. The calling thread reads and writes only, so that on a busy machine the others never
/// wait for it; it compresses where the system gives it no other thread.
struct ParallelDeflater {
    /// What zlib looks back at, in bytes (RFC 1951).
    static let window = 32 << 10
    /// Less content than this, in bytes, is not worth the threads.
    static let minimumSize = UInt64(2 * blockSize)
    /// More threads than this are faster than one can read, and would take more than 60 MiB.
    static let maximumThreads = 32

    let level: Int
    /// Besides the calling one.
    let threads: Int
    /// The room for a compressed block in bytes; too little is an error.
    let outputSize: Int

    init(level: Int, threads: Int, outputSize: Int = Deflater.bound(blockSize)) {
        self.level = level
        self.threads = min(max(1, threads), Self.maximumThreads)
        self.outputSize = outputSize
    }

    /// What there is to say of compressed content.
    struct Summary {
        /// The CRC-32 of the content.
        var crc32: UInt32 = 0
        /// How many blocks were compressed on other threads than the calling one.
        var blocksOfWorkers = 0
    }

    /// Compresses content.
    ///
    /// - Parameters:
    ///   - size: The content's length in bytes, not 0.
    ///   - deflater: The calling thread's own, of the same level.
    ///   - source: Reads content, one range after the other.
    ///   - body: Gets each compressed block, with the number of bytes that it stands for; false ends it all.
    /// - Returns: Nil where `body` has ended it.
    /// - Throws: What `source` and `body` throw, or `system` where compressing fails.
    func compress(
        size: UInt64, with deflater: inout Deflater, from source: ContentSource,
        _ body: (UnsafeRawBufferPointer, Int) throws(ZipError.Reason) -> Bool
    ) throws(ZipError.Reason) -> Summary? {
        let queue = Monitor(Queue())
        let level = level
        // A thread for which there is no memory leaves the work to the others, in the end to the calling one.
        let work: @Sendable () -> Void = {
            guard var deflater = try? Deflater(level: level) else {
                queue.update { $0.lostWorkers += 1 }
                return
            }
            while case .compress(let block) = queue.wait({ queue in queue.next() }) {
                block.compress(with: &deflater, isWorker: true)
                queue.update { _ in block.isDone = true }
            }
        }
        return try Threads.withWorkers(threads, work) { (count) throws(ZipError.Reason) in
            defer { queue.update { $0.close() } }
            return try run(
                size: size, with: &deflater, workers: count, queue, source, body)
        }
    }

    private func run(
        size: UInt64, with deflater: inout Deflater, workers: Int, _ queue: Monitor<Queue>,
        _ source: ContentSource,
        _ body: (UnsafeRawBufferPointer, Int) throws(ZipError.Reason) -> Bool
    ) throws(ZipError.Reason) -> Summary? {
        let blockCount = (size + UInt64(blockSize) - 1) / UInt64(blockSize)
        // 0.5 MiB each. On a busy machine it takes long until this thread is given its turn again.
        var idle = (0..<min(UInt64(2 * threads + 16), blockCount)).map { _ in
            DeflateBlock(outputSize: outputSize)
        }
        // In the order of the content.
        var busy: [DeflateBlock] = []
        var last: DeflateBlock?
        var position: UInt64 = 0
        var summary = Summary()
        while true {
            if let first = busy.first, queue.withLock({ _ in first.isDone }) {
                guard let output = first.output else {
                    throw .system(SystemError("compress", "", code: ENOMEM))
                }
                // The type of a length differs between systems.
                let combined = crc32_combine(
                    CUnsignedLong(summary.crc32), CUnsignedLong(first.checksum),
                    numericCast(first.count))
                summary.crc32 = UInt32(truncatingIfNeeded: combined)
                summary.blocksOfWorkers += first.isOfWorker ? 1 : 0
                guard try body(output, first.count) else { return nil }
                idle.append(busy.removeFirst())
            } else if position < size, let block = idle.popLast() {
                let end = min(position + UInt64(blockSize), size)
                block.prepare(after: last, count: Int(end - position), isLast: end == size)
                try source(block.input, position)
                position = end
                last = block
                busy.append(block)
                queue.update { $0.waiting.append(block) }
            } else if let first = busy.first {
                // Nothing left to read into, and the next to write is not there yet.
                let task: Task = queue.wait { queue in
                    if first.isDone { return .write }
                    return queue.lostWorkers == workers ? queue.next() : nil
                }
                if case .compress(let block) = task {
                    block.compress(with: &deflater, isWorker: false)
                    queue.update { _ in block.isDone = true }
                }
            } else {
                return summary
            }
        }
    }

    /// What a thread is to do next.
    private enum Task {
        /// The calling thread: the next block to write is there.
        case write
        case compress(DeflateBlock)
        /// A further thread: nothing more.
        case end
    }

    /// The blocks that nobody works at yet.
    private struct Queue {
        var waiting: [DeflateBlock] = []
        /// How many threads have ended for want of memory.
        var lostWorkers = 0
        var isClosed = false

        /// Nil where there is nothing to do yet.
        mutating func next() -> Task? {
            if isClosed { return .end }
            return waiting.isEmpty ? nil : .compress(waiting.removeFirst())
        }

        mutating func close() {
            waiting = []
            isClosed = true
        }
    }
}

/// A part of the content on its way.
///
/// One thread at a time has it: the calling one, or the one that has taken it from the queue; `isDone` is
/// touched under the queue's lock.
private final class DeflateBlock: @unchecked Sendable {
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: ParallelDeflater.window + blockSize, alignment: 16)
    private let room: UnsafeMutableRawBufferPointer
    private var dictionarySize = 0
    private var isLast = false
    private var outputCount: Int?
    private(set) var count = 0
    private(set) var checksum: UInt32 = 0
    private(set) var isOfWorker = false
    var isDone = false

    init(outputSize: Int) {
        room = .allocate(byteCount: outputSize, alignment: 16)
    }

    deinit {
        buffer.deallocate()
        room.deallocate()
    }

    /// Where the content goes.
    var input: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: buffer[ParallelDeflater.window...].prefix(count))
    }

    /// The compressed content; nil where zlib failed.
    var output: UnsafeRawBufferPointer? {
        outputCount.map { UnsafeRawBufferPointer(rebasing: room[..<$0]) }
    }

    /// Takes the dictionary from the block before, which may be this one.
    func prepare(after previous: DeflateBlock?, count: Int, isLast: Bool) {
        if let tail = previous?.input.suffix(ParallelDeflater.window) {
            UnsafeMutableRawBufferPointer(rebasing: buffer[..<ParallelDeflater.window])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: tail))
            dictionarySize = tail.count
        } else {
            dictionarySize = 0
        }
        self.count = count
        self.isLast = isLast
        isDone = false
    }

    func compress(with deflater: inout Deflater, isWorker: Bool) {
        isOfWorker = isWorker
        let input = UnsafeRawBufferPointer(input)
        var checksum = Checksum()
        checksum.update(input)
        self.checksum = checksum.value
        outputCount = deflater.compressBlock(
            input, after: UnsafeRawBufferPointer(rebasing: buffer[..<dictionarySize]), isLast: isLast,
            into: room)
    }
}

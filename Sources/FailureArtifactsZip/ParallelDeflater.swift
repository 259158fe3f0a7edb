internal import CFailureArtifactsZlib
internal import FailureArtifactsSystem

/// Compresses on all cores into one ordinary deflate stream.
///
/// The method is that of pigz (<https://zlib.net/pigz/pigz.pdf>). Each block of the content is compressed
/// separately, with the preceding 32 KiB as its dictionary. A sync flush ends it at a byte boundary, so that
/// the results can be joined.
///
/// The calling thread only reads and writes, so that the other threads never wait for it on a busy machine.
/// It compresses only if the system refuses other threads.
struct ParallelDeflater {
    /// The size of deflate's window, in bytes (RFC 1951).
    static let window = 32 << 10
    /// The minimum size of content, in bytes, that is worth the threads.
    static let minimumSize = UInt64(2 * blockSize)
    /// The maximum number of threads.
    ///
    /// More would outpace the reader and take more than 60 MiB.
    static let maximumThreads = 32

    let level: Int
    /// The number of threads besides the calling one.
    let threads: Int
    /// The size of the buffer for a compressed block, in bytes.
    ///
    /// Compressing fails if it is too small.
    let outputSize: Int

    init(level: Int, threads: Int, outputSize: Int = Deflater.bound(blockSize)) {
        self.level = level
        self.threads = min(max(1, threads), Self.maximumThreads)
        self.outputSize = outputSize
    }

    /// The result of compressing content.
    struct Summary {
        /// The CRC-32 of the content.
        var crc32: UInt32 = 0
        /// The number of blocks that other threads have compressed.
        var workerBlockCount = 0
    }

    /// Compresses content of at least one byte; returns nil if `body` has stopped it.
    ///
    /// The deflater is the calling thread's, of the same level. `source` reads content, one range after the other.
    /// `body` receives each compressed block and the number of content bytes in it, and returns false to stop.
    func compress(
        size: UInt64, with deflater: inout Deflater, from source: ContentSource,
        _ body: (UnsafeRawBufferPointer, Int) throws(ZipError.Reason) -> Bool
    ) throws(ZipError.Reason) -> Summary? {
        let queue = ConditionLock(Queue())
        let level = level
        // A thread without memory for a compressor leaves the work to the other threads, and finally to the
        // calling one.
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
        size: UInt64, with deflater: inout Deflater, workers: Int, _ queue: ConditionLock<Queue>,
        _ source: ContentSource,
        _ body: (UnsafeRawBufferPointer, Int) throws(ZipError.Reason) -> Bool
    ) throws(ZipError.Reason) -> Summary? {
        let blockCount = (size + UInt64(blockSize) - 1) / UInt64(blockSize)
        // Each block takes 0.5 MiB. On a busy machine, it may take long until this thread runs again.
        var idle = (0..<min(UInt64(2 * threads + 16), blockCount)).map { _ in
            DeflateBlock(outputSize: outputSize)
        }
        // The blocks in progress, in the order of the content.
        var busy: [DeflateBlock] = []
        var last: DeflateBlock?
        var position: UInt64 = 0
        var summary = Summary()
        while true {
            if let first = busy.first, queue.withLock({ _ in first.isDone }) {
                guard let output = first.output else {
                    throw .system(SystemError("compress", "", code: ENOMEM))
                }
                // The type of the length differs between systems.
                let combined = crc32_combine(
                    CUnsignedLong(summary.crc32), CUnsignedLong(first.checksum),
                    numericCast(first.count))
                summary.crc32 = UInt32(truncatingIfNeeded: combined)
                summary.workerBlockCount += first.isFromWorker ? 1 : 0
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
                // No block is left to read into, and the next one to write is not complete.
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

    /// A thread's next task.
    private enum Task {
        /// The calling thread writes the next block.
        case write
        case compress(DeflateBlock)
        /// A worker thread ends.
        case end
    }

    /// The blocks that no thread has taken yet.
    private struct Queue {
        var waiting: [DeflateBlock] = []
        /// The number of threads that ended because they had no memory.
        var lostWorkers = 0
        var isClosed = false

        /// Returns the next task; nil if there is nothing to do yet.
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

/// A block of the content and its compressed data.
///
/// Only one thread at a time uses it: the calling thread, or the worker that has taken it from the queue. The
/// queue's lock protects `isDone`.
private final class DeflateBlock: @unchecked Sendable {
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: ParallelDeflater.window + blockSize, alignment: 16)
    private let outputBuffer: UnsafeMutableRawBufferPointer
    private var dictionarySize = 0
    private var isLast = false
    private var outputCount: Int?
    private(set) var count = 0
    private(set) var checksum: UInt32 = 0
    private(set) var isFromWorker = false
    var isDone = false

    init(outputSize: Int) {
        outputBuffer = .allocate(byteCount: outputSize, alignment: 16)
    }

    deinit {
        buffer.deallocate()
        outputBuffer.deallocate()
    }

    /// The memory for the content.
    var input: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: buffer[ParallelDeflater.window...].prefix(count))
    }

    /// The compressed content; nil if zlib failed.
    var output: UnsafeRawBufferPointer? {
        outputCount.map { UnsafeRawBufferPointer(rebasing: outputBuffer[..<$0]) }
    }

    /// Resets the block and copies its dictionary from the preceding block, which may be this one.
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
        isFromWorker = isWorker
        let input = UnsafeRawBufferPointer(input)
        var checksum = Checksum()
        checksum.update(input)
        self.checksum = checksum.value
        outputCount = deflater.compressBlock(
            input, after: UnsafeRawBufferPointer(rebasing: buffer[..<dictionarySize]), isLast: isLast,
            into: outputBuffer)
    }
}

internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// Decompresses on another thread, while this thread checks and writes the result.
enum InflatePipe {
    /// The minimum size of content, in bytes, that is worth a thread.
    static let minimumSize = UInt64(4 * blockSize)
    /// The number of buffers between the two threads.
    private static let pieceCount = 8

    /// Reads deflate data.
    static func read(
        _ content: ArchiveSource, _ deliver: ZipArchive.Delivery
    ) throws(ZipError.Reason) {
        let pipe = Lock(State(empty: (0..<pieceCount).map { _ in Piece() }))
        let work: @Sendable () -> Void = {
            let end = inflate(content, into: pipe)
            pipe.withLock { $0.end = end }
        }
        try Threads.withWorkers(1, work) { (count) throws(ZipError.Reason) in
            guard count > 0 else { return try ZipArchive.inflate(content, deliver) }
            defer { pipe.withLock { $0.isClosed = true } }
            while true {
                switch pipe.wait({ $0.next() }) {
                case .piece(let piece):
                    try deliver(piece.content)
                    pipe.withLock { $0.empty.append(piece) }
                case .end(nil): return
                case .end(let reason?): throw reason
                }
            }
        }
    }

    /// Fills one piece after the other, and returns the final event.
    private static func inflate(
        _ content: ArchiveSource, into pipe: Lock<State>
    ) -> Event {
        var current: Piece?
        do throws(ZipError.Reason) {
            try ZipArchive.inflate(
                content,
                into: { () throws(ZipError.Reason) in
                    let piece = pipe.wait { $0.takeEmpty() }
                    current = piece
                    return piece.buffer
                },
                { (bytes) throws(ZipError.Reason) in
                    guard let piece = current else { return }
                    piece.count = bytes.count
                    let isClosed = pipe.withLock { state in
                        state.filled.append(piece)
                        return state.isClosed
                    }
                    // The receiver has stopped and ignores this error.
                    if isClosed { throw .truncated }
                })
            return .end(nil)
        } catch {
            return .end(error)
        }
    }

    /// An event for the receiving thread.
    private enum Event {
        case piece(Piece)
        /// The end of the content; the reason is nil if the content is complete.
        case end(ZipError.Reason?)
    }

    private struct State {
        var empty: [Piece]
        var filled: [Piece] = []
        var end: Event?
        var isClosed = false

        mutating func next() -> Event? {
            filled.isEmpty ? end : .piece(filled.removeFirst())
        }

        /// Takes an empty piece; nil while all are in use.
        ///
        /// After closing, any piece will do.
        mutating func takeEmpty() -> Piece? {
            if isClosed { return empty.popLast() ?? filled.popLast() ?? Piece() }
            return empty.popLast()
        }
    }
}

/// A part of the content.
///
/// Only one thread at a time holds it.
private final class Piece: @unchecked Sendable {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 16)
    var count = 0

    deinit { buffer.deallocate() }

    var content: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[..<count]) }
}

internal import FailureArtifactsSystem

/// Decompresses on another thread, while this one checks and writes what is there.
enum InflatePipe {
    /// Less content than this, in bytes, is not worth the thread.
    static let minimumSize = UInt64(4 * blockSize)
    /// How many pieces there are at a time.
    private static let pieceCount = 8

    /// Reads deflate data.
    ///
    /// - Parameters:
    ///   - content: Compressed data.
    ///   - deliver: Gets each piece of the content, on this thread.
    /// - Throws: What is wrong with the data, or what `deliver` throws.
    static func read(
        _ content: ArchiveSource, _ deliver: ZipArchive.Delivery
    ) throws(ZipError.Reason) {
        let pipe = Monitor(State(empty: (0..<pieceCount).map { _ in Piece() }))
        let work: @Sendable () -> Void = {
            let end = inflate(content, into: pipe)
            pipe.update { $0.end = end }
        }
        try Threads.withWorkers(1, work) { (count) throws(ZipError.Reason) in
            guard count > 0 else { return try ZipArchive.inflate(content, deliver) }
            defer { pipe.update { $0.isClosed = true } }
            while true {
                switch pipe.wait({ $0.next() }) {
                case .piece(let piece):
                    try deliver(piece.content)
                    pipe.update { $0.empty.append(piece) }
                case .end(nil): return
                case .end(let reason?): throw reason
                }
            }
        }
    }

    /// Fills one piece after the other; returns what was wrong, or nil.
    private static func inflate(
        _ content: ArchiveSource, into pipe: Monitor<State>
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
                    let isClosed = pipe.update { state in
                        state.filled.append(piece)
                        return state.isClosed
                    }
                    // Nobody is interested any more; neither are they in this error.
                    if isClosed { throw .truncated }
                })
            return .end(nil)
        } catch {
            return .end(error)
        }
    }

    /// What the receiving thread gets.
    private enum Event {
        case piece(Piece)
        /// The content is complete, or what is wrong with it.
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

        /// Nil while there is none; once it is closed, any will do.
        mutating func takeEmpty() -> Piece? {
            if isClosed { return empty.popLast() ?? filled.popLast() ?? Piece() }
            return empty.popLast()
        }
    }
}

/// A part of the content, held by one thread at a time.
private final class Piece: @unchecked Sendable {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 16)
    var count = 0

    deinit { buffer.deallocate() }

    var content: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[..<count]) }
}

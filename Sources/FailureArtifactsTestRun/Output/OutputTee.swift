internal import CFailureArtifactsProcesses
internal import FailureArtifactsSystem

/// Passes one of the command's outputs on, byte for byte and at once, and keeps its end.
///
/// The command writes to a pipe, or to a pseudo-terminal where the output is a terminal. A thread empties it: nothing
/// else waits while nobody reads what is passed on.
final class OutputTee: Sendable {
    /// Seconds after the command's end in which those it has started may still write, where they have
    /// the pipe: they could keep it for ever.
    private static let afterwards = 0.5

    /// The end of what was written.
    let log: LogTail
    /// Where it goes, a descriptor of this process.
    private let target: CInt
    private let isTerminal: Bool
    /// The command's end of the pipe, until the command has it; then ours is closed.
    private let writing: Lock<CInt>
    private let stop: Lock<CInt>
    private let problem = Lock<SystemError?>(nil)

    /// - Parameters:
    ///   - target: Where to write; where it is a terminal the command gets one like it.
    ///   - log: Keeps the end.
    ///   - ended: Called when all is passed on.
    /// - Throws: That the system gives no pipe, or no thread.
    init(
        to target: CInt, log: LogTail, ended: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        self.target = target
        self.log = log
        isTerminal = isatty(target) == 1
        let output = try Self.ends(for: target)
        let stopping = try PipeEnds()
        writing = Lock(output.writing.release())
        stop = Lock(stopping.writing.release())
        let (reading, stopped) = (output.reading.release(), stopping.reading.release())
        let isStarted = Threads.detach { [self] in
            pass(from: reading, until: stopped)
            log.finish()
            ended()
        }
        guard !isStarted else { return }
        for end in [reading, stopped] { close(end) }
        Self.shut(writing)
        Self.shut(stop)
        throw SystemError("create", "a thread", code: EAGAIN)
    }

    private static func ends(for target: CInt) throws(SystemError) -> PipeEnds {
        if isatty(target) == 1 { return try PipeEnds(terminalLike: target) }
        return try PipeEnds()
    }

    /// The descriptor for the command.
    var writingDescriptor: CInt { writing.withLock(\.self) }

    /// Says that the command has its end of the pipe: when all who have it have closed it there is no more.
    func commandHasStarted() { Self.shut(writing) }

    /// Says that the command has ended: what is in the pipe is passed on, and what others write in the next half
    /// second.
    func commandHasEnded() { Self.shut(stop) }

    /// Why some of the output could not be passed on; nil where all of it was, or where nobody reads it.
    var failure: SystemError? { problem.withLock(\.self) }

    private static func shut(_ descriptor: Lock<CInt>) {
        descriptor.withLock { number in
            if number >= 0 { close(number) }
            number = -1
        }
    }

    /// The body of the thread.
    private func pass(from reading: CInt, until stopped: CInt) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer {
            buffer.deallocate()
            // Whoever writes to it now gets SIGPIPE.
            close(reading)
            close(stopped)
        }
        var deadline: Instant?
        /// What was in the pipe when the command had ended.
        var due = 0
        while true {
            if let deadline, due <= 0, deadline <= .now { return }
            var descriptors = [pollfd(fd: reading, events: Int16(POLLIN), revents: 0)]
            if deadline == nil {
                descriptors.append(pollfd(fd: stopped, events: Int16(POLLIN), revents: 0))
            }
            guard poll(&descriptors, nfds_t(descriptors.count), deadline.pollTimeout) > 0 else {
                continue
            }
            if deadline == nil, descriptors[1].revents != 0 {
                due = Int(failure_artifacts_available_bytes(reading))
                deadline = Instant.now.advanced(bySeconds: Self.afterwards)
            }
            guard descriptors[0].revents != 0 else { continue }
            // The window may have been resized.
            if isTerminal { failure_artifacts_copy_size(target, reading) }
            let count = read(reading, buffer.baseAddress, buffer.count)
            if count < 0, errno == EINTR { continue }
            // Of a terminal that nobody has any more it is EIO.
            guard count > 0 else { return }
            due -= count
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            guard forward(bytes) else { return }
            log.append(bytes)
        }
    }

    /// Writes to the target; false where nobody reads it any more, which the command is to learn.
    private func forward(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // The command might go on without a log; that is not for us to decide, so that it is read all the same.
        guard failure == nil else { return true }
        var done = 0
        while done < bytes.count, let base = bytes.baseAddress {
            let count = write(target, base + done, bytes.count - done)
            if count >= 0 {
                done += count
            } else if errno == EAGAIN || errno == EWOULDBLOCK {
                // Somebody who shares the output has set it so.
                var descriptor = pollfd(fd: target, events: Int16(POLLOUT), revents: 0)
                poll(&descriptor, 1, -1)
            } else if errno == EPIPE {
                return false
            } else if errno != EINTR {
                let error = SystemError("write to", "an output of the command", code: errno)
                problem.withLock { problem in problem = error }
                return true
            }
        }
        return true
    }
}

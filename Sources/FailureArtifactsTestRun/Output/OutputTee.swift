internal import CFailureArtifactsProcesses
internal import FailureArtifactsSystem

/// Passes one of the command's outputs on, byte for byte and at once or through a filter, and keeps its end.
///
/// The command writes to a pipe. A thread of its own reads from it, so only that thread waits if the receiver doesn't
/// read.
final class OutputTee: Sendable {
    /// The time for which other processes may write after the command's end, in seconds.
    ///
    /// Processes that the command has started could keep the pipe open for ever.
    private static let afterwards = 0.5

    /// The end of what was written.
    let log: LogTail
    private let filter: FailureFilter?
    /// The descriptor in this process that the output goes to.
    private let target: CInt
    /// The command's end of the pipe; this process closes it after the command has started.
    private let writing: Lock<CInt>
    private let stop: Lock<CInt>
    private let problem = Lock<SystemError?>(nil)

    /// Starts to pass on what is written to a new pipe.
    init(
        to target: CInt, log: LogTail, filter: FailureFilter?, ended: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        self.target = target
        self.log = log
        self.filter = filter
        let output = try PipeEnds()
        let stopping = try PipeEnds()
        writing = Lock(output.writing.release())
        stop = Lock(stopping.writing.release())
        let (reading, stopped) = (output.reading.release(), stopping.reading.release())
        let isStarted = Threads.detach { [self] in
            pass(from: reading, until: stopped)
            if let filter {
                filter.end(of: Int(target) - 1).withUnsafeBytes { bytes in _ = forward(bytes) }
            }
            log.finish()
            ended()
        }
        guard !isStarted else { return }
        for end in [reading, stopped] { close(end) }
        Self.shut(writing)
        Self.shut(stop)
        throw SystemError("create", "a thread", code: EAGAIN)
    }

    var writingDescriptor: CInt { writing.withLock(\.self) }

    /// Closes this process's copy of the command's end: the output ends when all other copies are closed.
    func commandHasStarted() { Self.shut(writing) }

    /// Reports that the command has ended; the content of the pipe, and output of other processes in the next half
    /// second, is still passed on.
    func commandHasEnded() { Self.shut(stop) }

    /// The error that kept some of the output from being passed on; nil if there was no error.
    ///
    /// A receiver that stops reading is not an error.
    var failure: SystemError? { problem.withLock(\.self) }

    private static func shut(_ descriptor: Lock<CInt>) {
        descriptor.withLock { number in
            if number >= 0 { close(number) }
            number = -1
        }
    }

    private func pass(from reading: CInt, until stopped: CInt) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer {
            buffer.deallocate()
            // From now on, writers get SIGPIPE.
            close(reading)
            close(stopped)
        }
        var deadline: Instant?
        /// The number of bytes that were in the pipe when the command ended, minus those read since.
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
            let count = read(reading, buffer.baseAddress, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            due -= count
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            let isOpen =
                filter.map { filter in
                    filter.passed(bytes, of: Int(target) - 1).withUnsafeBytes { forward($0) }
                } ?? forward(bytes)
            guard isOpen else { return }
            log.append(bytes)
        }
    }

    /// Writes to the target; returns false if the receiver has closed it, so that the command gets SIGPIPE too.
    private func forward(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // After an error, the command may still be able to continue without output, so its output is still read.
        guard failure == nil else { return true }
        var done = 0
        while done < bytes.count, let base = bytes.baseAddress {
            let count = write(target, base + done, bytes.count - done)
            if count >= 0 {
                done += count
            } else if errno == EAGAIN || errno == EWOULDBLOCK {
                // Another process that shares the output has made it non-blocking.
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

/// The outputs of the command: the terminal itself, or else a pipe whose content is passed on.
///
/// A program checks whether it writes to a terminal, so it gets a pipe in place of a terminal only if the output must
/// be read. It can't tell one pipe from another.
struct CommandOutputs {
    /// The end of standard output, and also of standard error if both go to the same place.
    let standardOutput: LogTail
    let standardError: LogTail
    /// One tee for each pipe or pseudo-terminal.
    private let tees: [(descriptors: [CInt], tee: OutputTee)]

    /// Creates the pipes; if the system provides no pipe for an output, the command inherits that output.
    ///
    /// - `onLine`: the hooks for each line of standard output and of standard error, including lines to a terminal.
    ///   If both go to the same place, the first hook receives all lines. Nil if the lines are not needed.
    init(
        onLine: (output: LogTail.LineHook, error: LogTail.LineHook)? = nil,
        filter: FailureFilter? = nil,
        ended: @escaping @Sendable () -> Void
    ) {
        standardOutput = LogTail(onLine: onLine?.output)
        var tees: [(descriptors: [CInt], tee: OutputTee)] = []
        let places = [STDOUT_FILENO, STDERR_FILENO].map { Self.place(of: $0, isRead: onLine != nil) }
        if places[0] != nil, places[0] == places[1] {
            // With separate pipes, the order of the two outputs would be lost.
            standardError = standardOutput
            if let tee = try? OutputTee(
                to: STDOUT_FILENO, log: standardOutput, filter: filter, ended: ended)
            {
                tees.append(([STDOUT_FILENO, STDERR_FILENO], tee))
            }
        } else {
            standardError = LogTail(onLine: onLine?.error)
            for (descriptor, log) in [(STDOUT_FILENO, standardOutput), (STDERR_FILENO, standardError)]
            where places[Int(descriptor) - 1] != nil {
                if let tee = try? OutputTee(to: descriptor, log: log, filter: filter, ended: ended) {
                    tees.append(([descriptor], tee))
                }
            }
        }
        self.tees = tees
    }

    /// The number of pipes, each of which reports its end.
    var count: Int { tees.count }

    /// This process's descriptors for the command, keyed by the command's descriptors; see ``ChildProcess``.
    var descriptors: [CInt: CInt] {
        var result: [CInt: CInt] = [:]
        for (descriptors, tee) in tees {
            for descriptor in descriptors { result[descriptor] = tee.writingDescriptor }
        }
        return result
    }

    func commandHasStarted() {
        for (_, tee) in tees { tee.commandHasStarted() }
    }

    func commandHasEnded() {
        for (_, tee) in tees { tee.commandHasEnded() }
    }

    /// The error because of which some output was lost; nil if there was no error.
    var failure: SystemError? { tees.lazy.compactMap(\.tee.failure).first }

    /// The identity of a descriptor's file; nil if it is closed, or a terminal that is not read.
    private static func place(of descriptor: CInt, isRead: Bool) -> FileStatus.Identity? {
        isatty(descriptor) == 1 && !isRead ? nil : FileStatus(ofDescriptor: descriptor)?.identity
    }
}

internal import CFailureArtifactsProcesses
internal import FailureArtifactsSystem

/// A queue of events from other threads, for the thread that supervises the command.
final class Mailbox: Sendable {
    enum Event: Equatable, Sendable {
        case signal(ReceivedSignal)
        case childEnded
        /// One of the command's outputs was passed on to its end.
        case outputEnded
    }

    private let events = Lock<[Event]>([])
    private let pipe: PipeEnds

    init() throws(SystemError) {
        pipe = try PipeEnds()
        // Posting must not wait. If the pipe is full, the reader is going to wake up anyway.
        for end in [pipe.reading.number, pipe.writing.number] {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
    }

    func post(_ event: Event) {
        events.withLock { events in events.append(event) }
        var byte: UInt8 = 0
        _ = write(pipe.writing.number, &byte, 1)
    }

    /// Waits for the next event, in the order they were posted; nil if none was posted before the deadline.
    ///
    /// - `deadline`: the end of the wait; nil for no limit.
    func next(until deadline: Instant?) -> Event? {
        while true {
            let event = events.withLock { events in events.isEmpty ? nil : events.removeFirst() }
            if let event { return event }
            if let deadline, deadline <= .now { return nil }
            var descriptors = [pollfd(fd: pipe.reading.number, events: Int16(POLLIN), revents: 0)]
            guard poll(&descriptors, 1, deadline.pollTimeout) > 0 else { continue }
            var bytes = [UInt8](repeating: 0, count: 256)
            _ = read(pipe.reading.number, &bytes, bytes.count)
        }
    }
}

extension Instant? {
    /// The timeout for `poll`: milliseconds until then, rounded up, at most about an hour; −1 for no limit.
    var pollTimeout: CInt {
        guard let self else { return -1 }
        return CInt(min(Instant.now.seconds(until: self), 3600) * 1000) + 1
    }
}

/// Reports children that end.
///
/// A thread waits for them but doesn't reap them. Only ``reap()`` frees their process numbers. Until its caller reaps a
/// child, it can send signals to it without hitting another process.
final class ChildReaper: Sendable {
    private let mailbox: Mailbox
    private let goOn: PipeEnds

    init(mailbox: Mailbox) throws(SystemError) {
        self.mailbox = mailbox
        goOn = try PipeEnds()
    }

    /// Starts to wait.
    ///
    /// A child must exist already. True if the system provided a thread.
    func start() -> Bool {
        Threads.detach { [self] in
            while true {
                if failure_artifacts_ended_child(1) < 0 {
                    if errno == EINTR { continue }
                    return
                }
                mailbox.post(.childEnded)
                var byte: UInt8 = 0
                while read(goOn.reading.number, &byte, 1) < 0, errno == EINTR {}
            }
        }
    }

    /// Reaps the children that have ended; call it after an event.
    func reap() -> [EndedProcess] {
        var ended: [EndedProcess] = []
        while true {
            let number = failure_artifacts_ended_child(0)
            guard number > 0 else { break }
            let identity =
                ProcessEntry(of: number)?.identity ?? ProcessIdentity(number: number, start: 0)
            var status: CInt = 0
            guard waitpid(number, &status, 0) == number else { continue }
            ended.append(EndedProcess(identity: identity, status: ExitStatus(waited: status)))
        }
        var byte: UInt8 = 0
        _ = write(goOn.writing.number, &byte, 1)
        return ended
    }
}

internal import CFailureArtifactsProcesses
internal import FailureArtifactsSystem

/// What happens on other threads, for the one that supervises the command.
final class Mailbox: Sendable {
    enum Event: Equatable, Sendable {
        case signal(ReceivedSignal)
        /// There are children to be waited for.
        case childEnded
        /// One of the command's outputs has been passed on to its end.
        case outputEnded
    }

    private let events = Lock<[Event]>([])
    private let pipe: PipeEnds

    init() throws(SystemError) {
        pipe = try PipeEnds()
        // Whoever posts must not wait, and a full pipe says what there is to say.
        for end in [pipe.reading.number, pipe.writing.number] {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
    }

    func post(_ event: Event) {
        events.withLock { events in events.append(event) }
        var byte: UInt8 = 0
        _ = write(pipe.writing.number, &byte, 1)
    }

    /// Waits for the next event, in the order they were posted.
    ///
    /// - Parameter deadline: Nil to wait for as long as it takes.
    /// - Returns: Nil where there is none until then.
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
    /// For `poll`: milliseconds until then, rounded up, and at most an hour; −1 for ever.
    var pollTimeout: CInt {
        guard let self else { return -1 }
        return CInt(min(Instant.now.seconds(until: self), 3600) * 1000) + 1
    }
}

/// Learns of children that end.
///
/// A thread waits for them and leaves them as they are: only ``reap()`` frees their numbers, so that whoever
/// calls it can send signals to children in between without meeting somebody else.
final class ChildReaper: Sendable {
    private let mailbox: Mailbox
    private let goOn: PipeEnds

    /// - Parameter mailbox: Gets ``Mailbox/Event/childEnded``.
    /// - Throws: That the system gives no pipe.
    init(mailbox: Mailbox) throws(SystemError) {
        self.mailbox = mailbox
        goOn = try PipeEnds()
    }

    /// Starts to wait; there must be a child already.
    ///
    /// - Returns: Whether the system gave a thread.
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

    /// Frees the children that have ended, after an event.
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

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

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

    func post(_ event: Event) { events.withLock { events in events.append(event) } }

    /// Waits for the next event, in the order they were posted; nil if none was posted before the deadline.
    func next(until deadline: Instant?) -> Event? {
        func first(_ events: inout [Event]) -> Event? { events.isEmpty ? nil : events.removeFirst() }
        guard let deadline else { return events.wait(first) }
        return events.wait(until: deadline, first)
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
    /// The number of times that children were reaped.
    private let reaped = Lock(0)

    init(mailbox: Mailbox) {
        self.mailbox = mailbox
    }

    /// Starts to wait.
    ///
    /// A child must exist already. True if the system provided a thread.
    func start() -> Bool {
        Threads.detach { [self] in
            var seen = 0
            while true {
                if failure_artifacts_ended_child(1) < 0 {
                    if errno == EINTR { continue }
                    return
                }
                mailbox.post(.childEnded)
                seen = reaped.wait { count in count > seen ? count : nil }
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
        reaped.withLock { count in count += 1 }
        return ended
    }
}

extension ProcessIdentity {
    /// Sends the process a signal, unless it has ended.
    func send(_ signal: CInt) {
        if isAlive { kill(number, signal) }
    }
}

extension ProcessEntry {
    /// Returns all processes that this one can see.
    ///
    /// Processes that start or end in the meantime may be missing.
    static func all() -> [ProcessEntry] {
        #if os(Linux)
        let names = (try? FileSystem.contents(ofDirectory: "/proc")) ?? []
        return names.compactMap { Int32($0).flatMap(ProcessEntry.init(of:)) }
        #elseif canImport(Darwin)
        var name = [CTL_KERN, KERN_PROC, KERN_PROC_ALL, 0]
        var size = 0
        guard sysctl(&name, UInt32(name.count), nil, &size, nil, 0) == 0 else { return [] }
        // Leave space for processes that start before the second call.
        let stride = MemoryLayout<kinfo_proc>.stride
        var table = [kinfo_proc](repeating: kinfo_proc(), count: size / stride + 64)
        size = table.count * stride
        guard sysctl(&name, UInt32(name.count), &table, &size, nil, 0) == 0 else { return [] }
        return table.prefix(size / stride).map(ProcessEntry.init)
        #else
        return []
        #endif
    }
}

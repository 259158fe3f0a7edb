internal import CFailureArtifactsProcesses
internal import FailureArtifactsSystem

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

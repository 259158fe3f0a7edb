internal import CFailureArtifactsProcesses
internal import FailureArtifactsSystem

/// A descriptor of this process, closed with the value.
struct Descriptor: ~Copyable, Sendable {
    let number: CInt

    /// Takes a descriptor over.
    init(owning number: CInt) {
        self.number = number
    }

    deinit { close(number) }

    /// Gives the descriptor up, to somebody who closes it.
    consuming func release() -> CInt {
        let number = number
        discard self
        return number
    }
}

/// The two ends of a pipe; no other program gets them unless it is given them.
struct PipeEnds: ~Copyable, Sendable {
    let reading: Descriptor
    let writing: Descriptor

    /// - Throws: The failure of `pipe`.
    init() throws(SystemError) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError("create", "a pipe", code: errno) }
        let moved = try Self.moved(ends)
        reading = Descriptor(owning: moved.reading)
        writing = Descriptor(owning: moved.writing)
    }

    /// A pseudo-terminal with the settings and the size of another, which passes on what is written as it is.
    ///
    /// - Throws: The failure of `posix_openpt` and what belongs to it.
    init(terminalLike terminal: CInt) throws(SystemError) {
        var ends: [CInt] = [-1, -1]
        guard failure_artifacts_open_terminal(terminal, &ends) == 0 else {
            throw SystemError("create", "a pseudo-terminal", code: errno)
        }
        let moved = try Self.moved(ends)
        reading = Descriptor(owning: moved.reading)
        writing = Descriptor(owning: moved.writing)
    }

    /// Never 0 to 2: where those are closed, what is printed must not end up here.
    private static func moved(
        _ ends: [CInt]
    ) throws(SystemError) -> (reading: CInt, writing: CInt) {
        let moved = ends.map { fcntl($0, F_DUPFD_CLOEXEC, 3) }
        let code = errno
        for end in ends { close(end) }
        guard moved.allSatisfy({ $0 >= 0 }) else {
            for end in moved where end >= 0 { close(end) }
            throw SystemError("create", "a pipe", code: code)
        }
        return (moved[0], moved[1])
    }
}

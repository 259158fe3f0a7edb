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
        // Never 0 to 2: where those are closed, what is printed must not end up here.
        let moved = ends.map { fcntl($0, F_DUPFD_CLOEXEC, 3) }
        let code = errno
        for end in ends { close(end) }
        guard moved.allSatisfy({ $0 >= 0 }) else {
            for end in moved where end >= 0 { close(end) }
            throw SystemError("create", "a pipe", code: code)
        }
        reading = Descriptor(owning: moved[0])
        writing = Descriptor(owning: moved[1])
    }
}

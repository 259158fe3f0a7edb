internal import FailureArtifactsSystem

/// A file descriptor of this process, closed when the value is destroyed.
struct Descriptor: ~Copyable, Sendable {
    let number: CInt

    /// Takes ownership of a descriptor.
    init(owning number: CInt) {
        self.number = number
    }

    deinit { close(number) }

    /// Releases the descriptor. The caller must close it.
    consuming func release() -> CInt {
        let number = number
        discard self
        return number
    }
}

/// The two ends of a pipe. Other programs don't inherit them unless that is requested.
struct PipeEnds: ~Copyable, Sendable {
    let reading: Descriptor
    let writing: Descriptor

    init() throws(SystemError) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError("create", "a pipe", code: errno) }
        let moved = try Self.moved(ends)
        reading = Descriptor(owning: moved.reading)
        writing = Descriptor(owning: moved.writing)
    }

    /// Moves the descriptors above 2: if 0 to 2 are closed, other output could end up in the pipe.
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

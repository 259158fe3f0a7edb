internal import FailureArtifactsSystem

/// The outputs of the command: the terminal itself, or else a pipe whose content is passed on. A program checks
/// whether it writes to a terminal, so it gets a pipe in place of a terminal only if the output must be read. It
/// can't tell one pipe from another.
struct CommandOutputs {
    /// The end of standard output, and also of standard error if both go to the same place.
    let standardOutput: LogTail
    let standardError: LogTail
    /// One tee for each pipe or pseudo-terminal.
    private let tees: [(descriptors: [CInt], tee: OutputTee)]

    /// Creates the pipes. If the system provides no pipe for an output, the command inherits that output.
    ///
    /// - `onLine`: the hooks for each line of standard output and of standard error, including lines to a terminal.
    ///   If both go to the same place, the first hook receives all lines. Nil if the lines are not needed.
    init(
        onLine: (output: LogTail.LineHook, error: LogTail.LineHook)? = nil,
        ended: @escaping @Sendable () -> Void
    ) {
        standardOutput = LogTail(onLine: onLine?.output)
        var tees: [(descriptors: [CInt], tee: OutputTee)] = []
        let places = [STDOUT_FILENO, STDERR_FILENO].map { Self.place(of: $0, isRead: onLine != nil) }
        if places[0] != nil, places[0] == places[1] {
            // With separate pipes, the order of the two outputs would be lost.
            standardError = standardOutput
            if let tee = try? OutputTee(to: STDOUT_FILENO, log: standardOutput, ended: ended) {
                tees.append(([STDOUT_FILENO, STDERR_FILENO], tee))
            }
        } else {
            standardError = LogTail(onLine: onLine?.error)
            for (descriptor, log) in [(STDOUT_FILENO, standardOutput), (STDERR_FILENO, standardError)]
            where places[Int(descriptor) - 1] != nil {
                if let tee = try? OutputTee(to: descriptor, log: log, ended: ended) {
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

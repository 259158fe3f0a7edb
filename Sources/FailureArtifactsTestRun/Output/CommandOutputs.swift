internal import FailureArtifactsSystem

/// The command's outputs: where they are a terminal it gets that itself, and else a pipe that is passed on.
///
/// A program asks whether it writes to a terminal, and must see it where there is one. Elsewhere it cannot tell
/// one pipe from another. Where what goes to a terminal is to be read, the command gets a pseudo-terminal of the
/// same kind and size.
struct CommandOutputs {
    /// The end of standard output, and of standard error where both go to the same place.
    let standardOutput: LogTail
    let standardError: LogTail
    /// One for each place that is no terminal.
    private let tees: [(descriptors: [CInt], tee: OutputTee)]

    /// Creates the pipes; what the system gives no pipe for stays as it is.
    ///
    /// - Parameters:
    ///   - onLine: Gets each line of standard output and of standard error, that of a terminal too; of both in
    ///     the first where they go to the same place. Nil where the lines are of no interest.
    ///   - ended: Called for each pipe, when all in it is passed on.
    init(
        onLine: (output: LogTail.LineHook, error: LogTail.LineHook)? = nil,
        ended: @escaping @Sendable () -> Void
    ) {
        standardOutput = LogTail(onLine: onLine?.output)
        var tees: [(descriptors: [CInt], tee: OutputTee)] = []
        let places = [STDOUT_FILENO, STDERR_FILENO].map { Self.place(of: $0, isRead: onLine != nil) }
        if places[0] != nil, places[0] == places[1] {
            // With a pipe each, the order among the two would be lost.
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

    /// How many ends there will be.
    var count: Int { tees.count }

    /// For ``ChildProcess``: our descriptors by the command's.
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

    /// Why some of the output is lost; nil where none is.
    var failure: SystemError? { tees.lazy.compactMap(\.tee.failure).first }

    /// What a descriptor goes to; nil where it is closed, or a terminal that is not to be read.
    private static func place(of descriptor: CInt, isRead: Bool) -> FileStatus.Identity? {
        isatty(descriptor) == 1 && !isRead ? nil : FileStatus(ofDescriptor: descriptor)?.identity
    }
}

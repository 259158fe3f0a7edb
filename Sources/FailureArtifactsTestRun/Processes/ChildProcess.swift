internal import CFailureArtifactsProcesses
package import FailureArtifactsSystem

/// Another program, which inherits this one's terminal and outputs.
package enum ChildProcess {
    /// Returns the path of a program that the shell would find; nil if it finds none.
    package static func executable(named name: String, environment: [String: String]) -> String? {
        for directory in environment["PATH", default: ""].split(separator: ":") {
            let path = Path.join(String(directory), name)
            guard access(path, X_OK) == 0, let status = try? FileSystem.status(of: path) else {
                continue
            }
            if status.kind == .regular { return path }
        }
        return nil
    }

    /// Runs a program to its end; for a program that a signal ended, 128 plus the signal's number, as in shells.
    ///
    /// - `interruption`: handles signals; it leaves them to the program meanwhile.
    /// - `outputs`: descriptors of this process, keyed by their numbers in the program.
    package static func run(
        _ executable: String, arguments: [String], environment: [String: String],
        interruption: Interruption, outputs: [CInt: CInt] = [:]
    ) throws(SystemError) -> Int32 {
        // Do this before the child exists: a signal that arrives now must not remove the child's files.
        interruption.setChild(0)
        defer { interruption.setChild(nil) }
        let child = try spawn(
            executable, arguments: arguments, environment: environment, signals: interruption.inherited,
            outputs: outputs)
        interruption.setChild(child)
        // A child's number stays its own until it is reaped, so pending signals can still be sent to it.
        var information = siginfo_t()
        while waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        interruption.settle()
        var status: CInt = 0
        while waitpid(child, &status, 0) < 0 {
            guard errno == EINTR else { throw SystemError("wait for", executable, code: errno) }
        }
        return ExitStatus(waited: status).code
    }

    /// Runs a program that only answers, without input and errors, and returns the start of its output.
    ///
    /// Nil if it fails, or if it doesn't end within a few seconds.
    package static func answer(
        of executable: String, arguments: [String], environment: [String: String], limit: Int = 4096
    ) -> [UInt8]? {
        guard let pipe = try? PipeEnds() else { return nil }
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        guard null >= 0 else { return nil }
        defer { close(null) }
        let outputs: [CInt: CInt] = [0: null, 1: pipe.writing.number, 2: null]
        guard
            let child = try? spawn(
                executable, arguments: arguments, environment: environment, signals: .current,
                outputs: outputs)
        else { return nil }
        let reading = pipe.closeWriting()
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: limit)
        var isEnded = false
        while bytes.count < limit {
            var state = pollfd(fd: reading.number, events: Int16(POLLIN), revents: 0)
            guard poll(&state, 1, answerTime) > 0 else { break }
            let count = read(reading.number, &buffer, limit - bytes.count)
            isEnded = count == 0
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        if !isEnded { kill(child, SIGKILL) }
        var status: CInt = 0
        while waitpid(child, &status, 0) < 0 { guard errno == EINTR else { return nil } }
        return ExitStatus(waited: status) == .exited(0) ? bytes : nil
    }

    /// The time that a program may take for a part of its answer, in milliseconds.
    private static let answerTime: CInt = 5000

    /// Starts a program; the caller must wait for the process.
    ///
    /// - `executable`: the path; or a name, which is looked up in this process's `PATH`.
    /// - `outputs`: descriptors of this process, keyed by their numbers in the program. The program inherits other
    ///   descriptors that are not closed on exec.
    static func spawn(
        _ executable: String, arguments: [String], environment: [String: String],
        signals: InheritedSignals, outputs: [CInt: CInt] = [:]
    ) throws(SystemError) -> pid_t {
        #if canImport(Darwin)
        var attributes: posix_spawnattr_t?
        var actions: posix_spawn_file_actions_t?
        #else
        var attributes = posix_spawnattr_t()
        var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in outputs {
            posix_spawn_file_actions_adddup2(&actions, descriptor, number)
        }
        // Undoes what Interruption.watch() did.
        var mask = signals.mask
        posix_spawnattr_setsigmask(&attributes, &mask)
        var standard = sigset_t()
        sigemptyset(&standard)
        if !signals.ignoresBrokenPipes { sigaddset(&standard, SIGPIPE) }
        posix_spawnattr_setsigdefault(&attributes, &standard)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var child = pid_t()
        var words = ([executable] + arguments).map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0.key + "=" + $0.value) } + [nil]
        defer { for text in words + variables { free(text) } }
        let code = posix_spawnp(&child, executable, &actions, &attributes, &words, &variables)
        guard code == 0 else { throw SystemError("start", executable, code: code) }
        return child
    }
}

/// A file descriptor of this process, closed when the value is destroyed.
struct Descriptor: ~Copyable, Sendable {
    let number: CInt

    init(owning number: CInt) {
        self.number = number
    }

    deinit { close(number) }

    /// Releases the descriptor; the caller must close it.
    consuming func release() -> CInt {
        let number = number
        discard self
        return number
    }
}

/// The two ends of a pipe; other programs don't inherit them unless that is requested.
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

    /// Closes the end for writing, and returns the other one.
    consuming func closeWriting() -> Descriptor { reading }

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

package enum SignalName {
    private static let names: [Int32: String] = [
        SIGABRT: "SIGABRT", SIGALRM: "SIGALRM", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGHUP: "SIGHUP",
        SIGILL: "SIGILL", SIGINT: "SIGINT", SIGKILL: "SIGKILL", SIGPIPE: "SIGPIPE", SIGQUIT: "SIGQUIT",
        SIGSEGV: "SIGSEGV", SIGSYS: "SIGSYS", SIGTERM: "SIGTERM", SIGTRAP: "SIGTRAP",
        SIGXCPU: "SIGXCPU",
    ]

    /// Formats a signal as `signal 9 (SIGKILL)`.
    package static func text(_ signal: Int32) -> String {
        "signal \(signal)" + (names[signal].map { " (\($0))" } ?? "")
    }
}

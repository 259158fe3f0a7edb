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

    /// Runs a program to its end. For a program that a signal ended, 128 plus the signal's number, as in shells.
    ///
    /// - `interruption`: handles signals; it leaves them to the program meanwhile.
    package static func run(
        _ executable: String, arguments: [String], environment: [String: String],
        interruption: Interruption
    ) throws(SystemError) -> Int32 {
        // Do this before the child exists: a signal that arrives now must not remove the child's files.
        interruption.setChild(0)
        defer { interruption.setChild(nil) }
        let child = try spawn(
            executable, arguments: arguments, environment: environment, signals: interruption.inherited)
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

    /// Starts a program. The caller must wait for the process.
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

        var argumentList = CommandLineBytes(name: executable, arguments: arguments)
        var variables = CommandLineBytes(environment: environment)
        var child = pid_t()
        let code = argumentList.withPointers { arguments in
            variables.withPointers { variables in
                arguments.map {
                    posix_spawnp(&child, executable, &actions, &attributes, $0, variables ?? environ)
                } ?? ENOMEM
            }
        }
        guard code == 0 else { throw SystemError("start", executable, code: code) }
        return child
    }
}

/// A list of C strings for another program that keeps this process's own strings byte for byte. Arguments and
/// variables need not be UTF-8, but a Swift string always is.
struct CommandLineBytes: ~Copyable {
    /// The strings, followed by nil.
    private var pointers: [UnsafeMutablePointer<CChar>?]

    /// Creates the list of a program's arguments.
    ///
    /// - `arguments`: the other arguments. Those at the end of this process's own arguments are copied byte for byte.
    init(name: String, arguments: [String]) {
        let own = CommandLine.unsafeArgv
        let first = Int(CommandLine.argc) - arguments.count
        var pointers = [strdup(name)]
        for (index, argument) in arguments.enumerated() {
            let given = first > 0 ? own[first + index] : nil
            let isOwn = given.map { String(cString: $0) == argument } ?? false
            pointers.append(isOwn ? given.flatMap { strdup($0) } : strdup(argument))
        }
        self.pointers = pointers + [nil]
    }

    /// Creates the list of a program's environment.
    ///
    /// - `environment`: the whole environment. This process's own variables are copied byte for byte.
    init(environment: [String: String]) {
        var pointers: [UnsafeMutablePointer<CChar>?] = []
        var rest = environment
        var entry = environ
        while let given = entry.pointee {
            let parts = String(cString: given).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, rest[String(parts[0])] == String(parts[1]) {
                rest[String(parts[0])] = nil
                pointers.append(strdup(given))
            }
            entry += 1
        }
        pointers += rest.map { strdup($0.key + "=" + $0.value) }
        self.pointers = pointers + [nil]
    }

    deinit {
        for pointer in pointers { free(pointer) }
    }

    /// Calls `body` with the list, which is valid during the call.
    mutating func withPointers<Result>(
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Result
    ) -> Result {
        pointers.withUnsafeMutableBufferPointer { body($0.baseAddress) }
    }
}

/// The way a process ended.
package enum ExitStatus: Equatable, Sendable {
    /// The process ended by itself, with a status from 0 to 255.
    case exited(Int32)
    /// A signal ended the process.
    case signalled(Int32)

    init(waited status: CInt) {
        // The macros WIFEXITED and so on are the same everywhere. 0x80 means that a core file was written.
        let signal = status & 0x7F
        self = signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
    }

    /// The status; for a process that a signal ended, 128 plus the signal's number, as in shells.
    package var code: Int32 {
        switch self {
        case .exited(let status): status
        case .signalled(let signal): 128 + signal
        }
    }
}

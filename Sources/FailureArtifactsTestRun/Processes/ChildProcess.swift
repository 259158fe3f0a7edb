package import FailureArtifactsSystem

/// Another program, which is given this one's terminal and outputs.
package enum ChildProcess {
    /// The path of a program that the shell would find; nil where there is none.
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

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - executable: Its path.
    ///   - arguments: Without the program's name.
    ///   - environment: All of its environment.
    ///   - interruption: Leaves signals to the program meanwhile.
    /// - Returns: Its exit status, and 128 plus the signal's number for one that a signal ended, as shells have it.
    /// - Throws: The failure of `posix_spawn`.
    package static func run(
        _ executable: String, arguments: [String], environment: [String: String],
        interruption: Interruption
    ) throws(SystemError) -> Int32 {
        // Before there is a child already: a signal that comes now must not remove what it works on.
        interruption.setChild(0)
        defer { interruption.setChild(nil) }
        let child = try spawn(
            executable, arguments: arguments, environment: environment, signals: interruption.inherited)
        interruption.setChild(child)
        // Until the child is reaped its number is its own, so that pending signals can be passed on to it.
        var information = siginfo_t()
        while waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        interruption.settle()
        var status: CInt = 0
        while waitpid(child, &status, 0) < 0 {
            guard errno == EINTR else { throw SystemError("wait for", executable, code: errno) }
        }
        return ExitStatus(waited: status).code
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - executable: Its path; or a name, which is looked up in this process's `PATH`.
    ///   - arguments: Without the program's name.
    ///   - environment: All of its environment.
    ///   - signals: What it is given as to signals.
    ///   - outputs: Descriptors of this process, by the numbers they get there. The others that are not closed
    ///     on exec it gets as they are.
    /// - Returns: Its number; it has to be waited for.
    /// - Throws: The failure of `posix_spawn`.
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

/// A list of C strings for another program, where what this process was given stays as it is to the byte:
/// arguments and variables need not be UTF-8, and a Swift string is.
struct CommandLineBytes: ~Copyable {
    /// Ends with a nil.
    private var pointers: [UnsafeMutablePointer<CChar>?]

    /// A program's arguments.
    ///
    /// - Parameters:
    ///   - name: The first, which is the program's name.
    ///   - arguments: The others. Those that are the last of this process's own are taken as they are there.
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

    /// A program's environment.
    ///
    /// - Parameter environment: All of it. Variables that are this process's own are taken as they are there.
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

    /// Lends the list.
    mutating func withPointers<Result>(
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Result
    ) -> Result {
        pointers.withUnsafeMutableBufferPointer { body($0.baseAddress) }
    }
}

/// How a process ended.
package enum ExitStatus: Equatable, Sendable {
    /// By itself, with a status from 0 to 255.
    case exited(Int32)
    /// By a signal.
    case signalled(Int32)

    /// - Parameter status: What `waitpid` gives for a process that has ended.
    init(waited status: CInt) {
        // The macros WIFEXITED and so on are the same everywhere; 0x80 stands for a core that was written.
        let signal = status & 0x7F
        self = signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
    }

    /// The status, and 128 plus the signal's number for what a signal ended, as shells have it.
    package var code: Int32 {
        switch self {
        case .exited(let status): status
        case .signalled(let signal): 128 + signal
        }
    }
}

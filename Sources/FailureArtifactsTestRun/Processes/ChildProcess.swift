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

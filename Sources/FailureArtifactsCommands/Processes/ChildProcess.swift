internal import FailureArtifactsSystem

/// Another program, which is given this one's terminal and outputs.
enum ChildProcess {
    /// The path of a program that the shell would find; nil where there is none.
    static func executable(named name: String, environment: [String: String]) -> String? {
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
    static func run(
        _ executable: String, arguments: [String], environment: [String: String],
        interruption: Interruption
    ) throws(SystemError) -> Int32 {
        // Before there is a child already: a signal that comes now must not remove what it works on.
        interruption.setChild(0)
        defer { interruption.setChild(nil) }
        let child = try spawn(executable, arguments: arguments, environment: environment)
        interruption.setChild(child)
        var status: CInt = 0
        while waitpid(child, &status, 0) < 0 {
            guard errno == EINTR else { throw SystemError("wait for", executable, code: errno) }
        }
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }

    private static func spawn(
        _ executable: String, arguments: [String], environment: [String: String]
    ) throws(SystemError) -> pid_t {
        #if canImport(Darwin)
        var attributes: posix_spawnattr_t?
        #else
        var attributes = posix_spawnattr_t()
        #endif
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Undoes what Interruption.watch() did. What was ignored before, as nohup has it, stays so.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var standard = sigset_t()
        sigemptyset(&standard)
        sigaddset(&standard, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &standard)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var argumentList = ([executable] + arguments).map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0.key + "=" + $0.value) } + [nil]
        defer {
            for pointer in argumentList + variables { free(pointer) }
        }
        var child = pid_t()
        let code = posix_spawn(&child, executable, nil, &attributes, &argumentList, &variables)
        guard code == 0 else { throw SystemError("start", executable, code: code) }
        return child
    }
}

internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// Starts a command the way a shell does.
enum CommandStart {
    /// Starts a command.
    static func spawn(
        _ words: [String], environment: [String: String], signals: InheritedSignals,
        outputs: [CInt: CInt]
    ) throws(CommandError) -> pid_t {
        let name = words[0]
        let arguments = Array(words.dropFirst())
        do throws(SystemError) {
            do throws(SystemError) {
                return try ChildProcess.spawn(
                    name, arguments: arguments, environment: environment, signals: signals,
                    outputs: outputs)
            } catch  where error.code == ENOEXEC {
                // A script whose first line names no interpreter is run by the shell.
                let path =
                    name.contains("/")
                    ? name : ChildProcess.executable(named: name, environment: environment)
                guard let path else { throw error }
                return try ChildProcess.spawn(
                    "/bin/sh", arguments: [path] + arguments, environment: environment,
                    signals: signals, outputs: outputs)
            }
        } catch {
            throw commandError(name, error)
        }
    }

    private static func commandError(_ name: String, _ error: SystemError) -> CommandError {
        guard error.code == ENOENT else {
            return CommandError(
                ExitCode(rawValue: 126), "'\(name)' cannot be run: \(error.reason).")
        }
        let code = ExitCode(rawValue: 127)
        guard name.contains("/") else {
            return CommandError(code, "There is no program '\(name)' in PATH.")
        }
        if access(name, F_OK) == 0 {
            return CommandError(
                code, "'\(name)' cannot be run: the interpreter that it names does not exist.")
        }
        return CommandError(code, "There is no program '\(name)'.")
    }
}

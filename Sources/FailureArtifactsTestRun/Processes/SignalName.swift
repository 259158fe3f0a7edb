internal import FailureArtifactsSystem

/// Signals as people know them.
enum SignalName {
    private static let names: [Int32: String] = [
        SIGABRT: "SIGABRT", SIGALRM: "SIGALRM", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGHUP: "SIGHUP",
        SIGILL: "SIGILL", SIGINT: "SIGINT", SIGKILL: "SIGKILL", SIGPIPE: "SIGPIPE", SIGQUIT: "SIGQUIT",
        SIGSEGV: "SIGSEGV", SIGSYS: "SIGSYS", SIGTERM: "SIGTERM", SIGTRAP: "SIGTRAP",
        SIGXCPU: "SIGXCPU",
    ]

    /// `signal 9 (SIGKILL)`.
    static func text(_ signal: Int32) -> String {
        "signal \(signal)" + (names[signal].map { " (\($0))" } ?? "")
    }
}

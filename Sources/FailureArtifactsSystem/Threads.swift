/// The threads of this process.
package enum Threads {
    /// Threads of ours, by the system's numbers: they use nobody's connections.
    private static let own = Lock<Set<String>>([])

    /// Runs `body` on a new thread that receives no signal.
    ///
    /// - Parameter body: The work. The thread ends with it.
    /// - Returns: Whether there is a thread; else `body` is not run.
    package static func detach(_ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        // A thread starts with the mask of the one that creates it.
        var (all, before) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let work = Unmanaged.passRetained(Work(body))
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        let code = pthread_create(&thread, &attributes, start, work.toOpaque())
        if code != 0 { work.release() }
        return code == 0
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    #if canImport(Darwin)
    private static let start: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = {
        run(Unmanaged<Work>.fromOpaque($0).takeRetainedValue().body)
        return nil
    }
    #else
    private static let start: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = {
        if let argument = $0 { run(Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body) }
        return nil
    }
    #endif

    private static func run(_ body: () -> Void) {
        let name = current
        if let name { _ = own.withLock { $0.insert(name) } }
        body()
        if let name { _ = own.withLock { $0.remove(name) } }
    }

    /// This thread's number, as the system's directory of threads has it; nil where there is none.
    private static var current: String? {
        (try? FileSystem.destination(ofLink: "/proc/thread-self"))
            .flatMap { $0.split(separator: "/").last.map(String.init) }
    }

    /// Whether every thread but this one, and but those of ``detach(_:)``, sleeps, waiting for something, at
    /// the moment it is looked at.
    ///
    /// False where the system doesn't tell: it is Linux's `/proc` that does (`man 5 proc_pid_stat`).
    package static func othersSleep() -> Bool {
        #if os(Linux)
        guard let threads = try? FileSystem.contents(ofDirectory: "/proc/self/task"), let current
        else { return false }
        let passedOver = own.withLock(\.self).union([current])
        return threads.allSatisfy { passedOver.contains($0) || sleeps($0) }
        #else
        return false
        #endif
    }

    /// Looks whether a thread sleeps.
    ///
    /// - Parameter number: The system's number of it.
    /// - Returns: Whether it does, or has ended; false where the system doesn't tell.
    package static func sleeps(number: Int) -> Bool {
        #if os(Linux)
        return number != 0 && sleeps(String(number))
        #else
        return false
        #endif
    }

    #if os(Linux)
    private static func sleeps(_ thread: String) -> Bool {
        // A thread that has ended meanwhile sleeps well enough.
        guard let bytes = try? FileSystem.contents(ofSpecialFile: "/proc/self/task/\(thread)/stat")
        else { return true }
        // PID (NAME) STATE …, where the name may hold anything, parentheses included.
        guard let close = bytes.lastIndex(of: UInt8(ascii: ")")), close + 2 < bytes.count else {
            return false
        }
        return bytes[close + 2] == UInt8(ascii: "S")
    }
    #endif
}

extension Threads {
    /// The number of threads of this process that can run at once.
    package static var cores: Int {
        #if os(Linux)
        // This takes `taskset` and a container's processor set into account: `Cpus_allowed:\t3,ffffffff`.
        if let status = try? FileSystem.contents(ofSpecialFile: "/proc/self/status") {
            let line = String(decoding: status, as: UTF8.self).split(separator: "\n")
                .first { $0.hasPrefix("Cpus_allowed:") }
            let count = (line ?? "").dropFirst("Cpus_allowed:".count)
                .reduce(0) { $0 + ($1.hexDigitValue?.nonzeroBitCount ?? 0) }
            if count > 0 { return count }
        }
        #endif
        return max(1, Int(sysconf(CInt(_SC_NPROCESSORS_ONLN))))
    }

    /// Runs `work` on additional threads while this thread runs `body`, and waits for their end.
    ///
    /// - Parameters:
    ///   - count: The number of threads. Fewer are started if the system refuses more.
    ///   - work: A closure that each thread calls once. It has to return once `body` has returned or thrown.
    ///   - body: A closure that receives the number of started threads. It has to work without any, too.
    /// - Returns: The result of `body`.
    /// - Throws: The error that `body` throws.
    package static func withWorkers<Result, Failure>(
        _ count: Int, _ work: @escaping @Sendable () -> Void, _ body: (Int) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var threads: [pthread_t] = []
        for _ in 0..<max(0, count) {
            guard let thread = start(Work(work)) else { break }
            threads.append(thread)
        }
        defer { for thread in threads { pthread_join(thread, nil) } }
        return try body(threads.count)
    }

    /// Runs `work` on a new thread.
    ///
    /// - Returns: False if the system refused a thread; `work` doesn't run then.
    package static func detach(_ work: @escaping @Sendable () -> Void) -> Bool {
        guard let thread = start(Work(work)) else { return false }
        pthread_detach(thread)
        return true
    }

    /// Starts a thread with all signals blocked, so that the process's signal handlers run on its own
    /// threads.
    private static func start(_ work: Work) -> pthread_t? {
        // A thread inherits the mask of the thread that creates it.
        var (all, before) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let context = Unmanaged.passRetained(work).toOpaque()
        #if canImport(Darwin)
        var thread: pthread_t?
        let code = pthread_create(&thread, nil, { runWork($0) }, context)
        #else
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, { runWork($0) }, context)
        #endif
        if code == 0 { return thread }
        Unmanaged<Work>.fromOpaque(context).release()
        return nil
    }
}

/// The closure that a new thread runs.
private final class Work: Sendable {
    private let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    func run() { Threads.runOwn(body) }
}

/// The entry point of a thread.
#if canImport(Darwin)
private func runWork(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
#else
private func runWork(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
#endif

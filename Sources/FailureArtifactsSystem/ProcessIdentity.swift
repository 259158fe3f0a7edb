/// A process, told from a later one with the same number by when it was started.
package struct ProcessIdentity: Hashable, Sendable {
    package let number: Int32
    /// When the process was started: ticks since the machine's start on Linux (field 22 of
    /// `/proc/PID/stat`), microseconds since 1970 on Apple's systems; 0 where the system does not tell.
    package let start: UInt64

    package init(number: Int32, start: UInt64) {
        self.number = number
        self.start = start
    }

    /// This process.
    package static var current: ProcessIdentity {
        let number = getpid()
        return known.withLock { known in
            // A child that was forked finds its parent's.
            if let known, known.number == number { return known }
            let current = ProcessIdentity(number: number, start: startTime(of: number) ?? 0)
            known = current.start == 0 ? nil : current
            return current
        }
    }

    /// What the system has told of this process.
    private static let known = Lock<ProcessIdentity?>(nil)

    /// Whether the process still runs; one that has ended but was not waited for does not.
    package var isAlive: Bool {
        guard kill(number, 0) == 0 || errno == EPERM else { return false }
        do throws(SystemError) {
            guard let entry = try ProcessEntry(existing: number), !entry.hasEnded else {
                return self.start == 0
            }
            return entry.identity.start == self.start
        } catch {
            // There is one of that number, and no telling since when: what may be in use is left alone.
            return true
        }
    }

    /// Sends the process a signal, unless it has ended.
    ///
    /// - Parameter signal: The signal's number.
    package func send(_ signal: CInt) {
        if isAlive { kill(number, signal) }
    }

    /// When a process was started; nil for one that has ended.
    private static func startTime(of number: Int32) -> UInt64? {
        guard let entry = ProcessEntry(of: number), !entry.hasEnded else { return nil }
        return entry.identity.start
    }
}

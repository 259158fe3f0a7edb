/// A process, identified by its number and its start time.
///
/// The start time distinguishes it from a later process with the same number.
package struct ProcessIdentity: Hashable, Sendable {
    package let number: Int32
    /// The start time; 0 if unknown.
    ///
    /// On Linux it is in ticks since the machine's start (field 22 of `/proc/PID/stat`), on Apple platforms
    /// in microseconds since 1970.
    package let start: UInt64

    package init(number: Int32, start: UInt64) {
        self.number = number
        self.start = start
    }

    /// This process.
    package static var current: ProcessIdentity {
        let number = getpid()
        return known.withLock { known in
            // After a fork, the child finds its parent's value here.
            if let known, known.number == number { return known }
            let current = ProcessIdentity(number: number, start: startTime(of: number) ?? 0)
            known = current.start == 0 ? nil : current
            return current
        }
    }

    /// The cached identity of this process.
    private static let known = Lock<ProcessIdentity?>(nil)

    /// True if the process still runs.
    ///
    /// It is false for a process that has ended but was not waited for.
    package var isAlive: Bool {
        guard kill(number, 0) == 0 || errno == EPERM else { return false }
        do throws(SystemError) {
            guard let entry = try ProcessEntry(existing: number), !entry.hasEnded else {
                return self.start == 0
            }
            return entry.identity.start == self.start
        } catch {
            // The number is taken, but the start time is unknown. Treat the process as alive, so that its
            // files stay.
            return true
        }
    }

    /// Sends the process a signal, unless it has ended.
    package func send(_ signal: CInt) {
        if isAlive { kill(number, signal) }
    }

    /// Returns a process's start time; nil if the process has ended.
    private static func startTime(of number: Int32) -> UInt64? {
        guard let entry = ProcessEntry(of: number), !entry.hasEnded else { return nil }
        return entry.identity.start
    }
}

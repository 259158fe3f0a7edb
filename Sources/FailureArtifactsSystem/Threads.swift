/// The threads of this process.
package enum Threads {
    /// Threads of ours, by the system's numbers: they use nobody's connections.
    private static let own = Lock<Set<String>>([])

    /// Runs a thread's body, as one of ours.
    static func runOwn(_ body: () -> Void) {
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

    /// Whether every thread but this one and those of ours sleeps, waiting for something, at
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
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileSystem.contents(ofSpecialFile: "/proc/self/task/\(thread)/stat")
        } catch {
            // A thread that has ended meanwhile sleeps well enough.
            return error.isNotFound || error.code == ESRCH
        }
        // PID (NAME) STATE …, where the name may hold anything, parentheses included.
        guard let close = bytes.lastIndex(of: UInt8(ascii: ")")), close + 2 < bytes.count else {
            return false
        }
        return bytes[close + 2] == UInt8(ascii: "S")
    }
    #endif
}

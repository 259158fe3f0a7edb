/// The threads of this process.
package enum Threads {
    /// The system's IDs of this package's threads, which never use other code's connections.
    private static let own = Lock<Set<String>>([])

    /// Runs the body of one of this package's threads.
    static func runOwn(_ body: () -> Void) {
        let name = current
        if let name { _ = own.withLock { $0.insert(name) } }
        body()
        if let name { _ = own.withLock { $0.remove(name) } }
    }

    /// This thread's ID in the system's directory of threads; nil if unknown.
    private static var current: String? {
        (try? FileSystem.destination(ofLink: "/proc/thread-self"))
            .flatMap { $0.split(separator: "/").last.map(String.init) }
    }

    /// Returns true if every other thread, except this package's, is asleep when it is checked.
    ///
    /// The answer comes from Linux's `/proc` (`man 5 proc_pid_stat`). It is false on other systems.
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

    /// Checks if a thread is asleep.
    ///
    /// - Parameter number: The system's ID of the thread.
    /// - Returns: True if the thread sleeps or has ended; false if unknown.
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
            // A thread that has ended in the meantime counts as asleep.
            return error.isNotFound || error.code == ESRCH
        }
        // The format is "PID (NAME) STATE …". The name may contain parentheses.
        guard let close = bytes.lastIndex(of: UInt8(ascii: ")")), close + 2 < bytes.count else {
            return false
        }
        return bytes[close + 2] == UInt8(ascii: "S")
    }
    #endif
}

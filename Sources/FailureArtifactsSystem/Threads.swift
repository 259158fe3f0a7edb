/// The threads of this process.
package enum Threads {
    /// Whether every thread but this one sleeps, waiting for something, at the moment it is looked at.
    ///
    /// False where the system doesn't tell: it is Linux's `/proc` that does (`man 5 proc_pid_stat`).
    package static func othersSleep() -> Bool {
        #if os(Linux)
        guard let threads = try? FileSystem.contents(ofDirectory: "/proc/self/task"),
            let own = try? FileSystem.destination(ofLink: "/proc/thread-self").split(separator: "/").last
        else { return false }
        for thread in threads where thread != own {
            // A thread that has ended meanwhile sleeps well enough.
            guard let bytes = try? FileSystem.contents(ofSpecialFile: "/proc/self/task/\(thread)/stat")
            else {
                continue
            }
            // PID (NAME) STATE …, where the name may hold anything, parentheses included.
            guard let close = bytes.lastIndex(of: UInt8(ascii: ")")), close + 2 < bytes.count else {
                return false
            }
            if bytes[close + 2] != UInt8(ascii: "S") { return false }
        }
        return true
        #else
        return false
        #endif
    }
}

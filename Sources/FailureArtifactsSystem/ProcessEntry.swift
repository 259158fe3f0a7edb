/// An entry of the system's process table.
package struct ProcessEntry: Sendable {
    package let identity: ProcessIdentity
    /// The process ID of the parent.
    package let parent: Int32
    /// True if the process has ended and its parent hasn't waited for it yet.
    package let hasEnded: Bool

    /// Reads a process's entry; nil if it doesn't exist or can't be read.
    package init?(of number: Int32) {
        guard let entry = try? ProcessEntry(existing: number) else { return nil }
        self = entry
    }

    /// Reads a process's entry; nil if it doesn't exist or the system has no such table.
    ///
    /// It can't be read, for example, if this process has no descriptor left.
    init?(existing number: Int32) throws(SystemError) {
        #if os(Linux)
        // man 5 proc_pid_stat
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileSystem.contents(ofFile: "/proc/\(number)/stat")
        } catch {
            guard error.isNotFound || error.code == ESRCH else { throw error }
            return nil
        }
        // The second field is the name in parentheses, which may contain any character.
        guard let close = bytes.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = bytes[(close + 1)...].split(separator: UInt8(ascii: " "))
        func text(_ index: Int) -> String { String(decoding: fields[index], as: UTF8.self) }
        guard fields.count > 19, let parent = Int32(text(1)), let start = UInt64(text(19)) else {
            return nil
        }
        identity = ProcessIdentity(number: number, start: start)
        self.parent = parent
        hasEnded = text(0) == "Z" || text(0) == "X"
        #elseif canImport(Darwin)
        var information = kinfo_proc()
        var size = MemoryLayout<kinfo_proc>.stride
        var name = [CTL_KERN, KERN_PROC, KERN_PROC_PID, number]
        guard sysctl(&name, UInt32(name.count), &information, &size, nil, 0) == 0, size > 0 else {
            return nil
        }
        self.init(information)
        #else
        return nil
        #endif
    }

    #if canImport(Darwin)
    package init(_ information: kinfo_proc) {
        let time = information.kp_proc.p_starttime
        identity = ProcessIdentity(
            number: information.kp_proc.p_pid,
            start: UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_usec))
        parent = information.kp_eproc.e_ppid
        hasEnded = Int32(information.kp_proc.p_stat) == SZOMB
    }
    #endif
}

/// A process, told from a later one with the same number by when it was started.
package struct ProcessIdentity: Hashable, Sendable {
    package let number: Int32
    /// When the process was started, in a unit of the system's; 0 where the system does not tell.
    package let start: UInt64

    package init(number: Int32, start: UInt64) {
        self.number = number
        self.start = start
    }

    /// This process.
    package static var current: ProcessIdentity {
        let number = getpid()
        return ProcessIdentity(number: number, start: startTime(of: number) ?? 0)
    }

    /// Whether the process still runs; one that has ended but was not waited for does not.
    package var isAlive: Bool {
        guard kill(number, 0) == 0 || errno == EPERM else { return false }
        guard let start = Self.startTime(of: number) else { return self.start == 0 }
        return start == self.start
    }

    /// When a process was started: ticks since the machine's start on Linux (field 22 of `/proc/PID/stat`,
    /// `man 5 proc_pid_stat`), microseconds since 1970 on Apple's systems; nil for one that has ended.
    private static func startTime(of number: Int32) -> UInt64? {
        #if os(Linux)
        guard let bytes = try? FileSystem.contents(ofSpecialFile: "/proc/\(number)/stat"),
            // The second field is a name in parentheses and may hold anything.
            let close = bytes.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = String(decoding: bytes[(close + 1)...], as: UTF8.self).split(separator: " ")
        guard fields.count > 19, fields[0] != "Z", fields[0] != "X" else { return nil }
        return UInt64(fields[19])
        #elseif canImport(Darwin)
        var information = kinfo_proc()
        var size = MemoryLayout<kinfo_proc>.stride
        var name = [CTL_KERN, KERN_PROC, KERN_PROC_PID, number]
        guard sysctl(&name, UInt32(name.count), &information, &size, nil, 0) == 0, size > 0,
            Int32(information.kp_proc.p_stat) != SZOMB
        else { return nil }
        let time = information.kp_proc.p_starttime
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_usec)
        #else
        return nil
        #endif
    }
}

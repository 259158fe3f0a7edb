/// A process, identified by its number and its start time.
///
/// The start time distinguishes it from a later process with the same number, and the space from one of another
/// container or machine.
package struct ProcessIdentity: Hashable, Sendable {
    package let number: Int32
    /// The start time; 0 if unknown.
    ///
    /// On Linux it is in ticks since the machine's start (field 22 of `/proc/PID/stat`), on Apple platforms
    /// in microseconds since 1970.
    package let start: UInt64
    /// The boot of the machine and the PID namespace in which the number is valid, as `<boot>.<namespace>`; empty if
    /// unknown.
    package let space: String

    /// Creates an identity; without a space, it is one of this process's namespace.
    package init(number: Int32, start: UInt64, space: String? = nil) {
        self.number = number
        self.start = start
        self.space = space ?? Self.currentSpace
    }

    /// The form in names of files: `<number>-<start>`, then `.<space>` if that is known.
    package var text: String { "\(number)-\(start)" + (space.isEmpty ? "" : "." + space) }

    /// Parses the two parts of ``text``; nil if they are anything else.
    package init?(_ number: Substring, _ rest: Substring) {
        let parts = rest.split(separator: ".", maxSplits: 1)
        guard let number = Int32(number), let first = parts.first, let start = UInt64(first) else {
            return nil
        }
        self.init(number: number, start: start, space: parts.count > 1 ? String(parts[1]) : nil)
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

    /// The space of this process, and the process that it was read in, which may have forked since then.
    private static let knownSpace = Lock<(process: Int32, text: String)>((0, ""))

    private static var currentSpace: String {
        knownSpace.withLock { known in
            if known.process != getpid() { known = (getpid(), readSpace()) }
            return known.text
        }
    }

    private static func readSpace() -> String {
        guard let boot = try? FileSystem.contents(ofFile: "/proc/sys/kernel/random/boot_id"),
            let namespace = (try? FileSystem.status(of: "/proc/self/ns/pid"))??.identity.inode
        else { return "" }
        return String(decoding: boot.prefix(8), as: UTF8.self) + ".\(namespace)"
    }

    /// True if the system's process table tells about the process.
    ///
    /// It may be mounted from another namespace. Then this process has another number there.
    private var isVisible: Bool {
        guard space == Self.currentSpace else { return false }
        #if os(Linux)
        let number = try? FileSystem.destination(ofLink: "/proc/self")
        return number == nil || number == "\(getpid())"
        #else
        return true
        #endif
    }

    /// Returns true if the process has died, which made a file or directory and holds its ``OwnerLock``.
    ///
    /// The lock tells it of a process in another container. Another machine may share the directory and not its locks, so
    /// the file must have been left for an hour, too.
    package func hasDied(leaving path: String) -> Bool {
        if isVisible { return !isAlive }
        var information = stat()
        guard let file = try? File(reading: path), fstat(file.descriptor, &information) == 0 else {
            return false
        }
        var isLocal = space.prefix { $0 != "." } == Self.currentSpace.prefix { $0 != "." }
        do throws(SystemError) {
            guard try file.tryLock() else { return false }
        } catch {
            // The volume has no locks.
            isLocal = false
        }
        #if canImport(Darwin)
        let changed = information.st_ctimespec.tv_sec
        #else
        let changed = information.st_ctim.tv_sec
        #endif
        return isLocal || Timestamp.now.seconds - Int64(changed) > 3600
    }

    /// True if the process still runs, or isn't in this process's PID namespace.
    ///
    /// It is false for a process that has ended but was not waited for.
    package var isAlive: Bool {
        guard isVisible else { return true }
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

    /// Returns a process's start time; nil if the process has ended.
    private static func startTime(of number: Int32) -> UInt64? {
        guard let entry = ProcessEntry(of: number), !entry.hasEnded else { return nil }
        return entry.identity.start
    }
}

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

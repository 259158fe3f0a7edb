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

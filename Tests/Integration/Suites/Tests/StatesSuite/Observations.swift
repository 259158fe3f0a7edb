import Foundation

/// The list of everything that a test could notice.
///
/// It is written immediately, so that it survives a crash.
final class Observations: Sendable {
    private let file: Int32

    init(path: String) {
        file = Foundation.open(path, O_WRONLY | O_CREAT | O_APPEND, 0o644)
        precondition(file >= 0, "cannot write \(path)")
    }

    /// Adds an observation.
    ///
    /// Names may repeat.
    func callAsFunction(_ name: String, _ value: some CustomStringConvertible) {
        guard var line = try? JSONEncoder().encode([name, value.description]) else { return }
        line.append(UInt8(ascii: "\n"))
        line.withUnsafeBytes { _ = write(file, $0.baseAddress, $0.count) }
    }
}

/// The files of a directory and their locks, read without opening any of them.
struct Listing {
    private let directory: String
    private var entries: [String: stat] = [:]

    init(_ directory: String) {
        self.directory = directory
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        for name in names + ["."] {
            var status = stat()
            if lstat(directory + "/" + name, &status) == 0 { entries[name] = status }
        }
    }

    var files: String {
        entries.filter { $0.key != "." }.map { "\($0.key) \($0.value.st_size)" }.sorted()
            .joined(separator: ", ")
    }

    /// The names of the files that differ from an earlier listing.
    ///
    /// The times of a WAL index don't count. It is mapped into memory, and the system records writes at any
    /// time.
    func changes(since earlier: Listing) -> String {
        let names = Set(entries.keys).union(earlier.entries.keys)
        return names.filter { name in
            guard let now = entries[name], let then = earlier.entries[name] else { return true }
            if now.st_ino != then.st_ino || now.st_size != then.st_size { return true }
            return !name.hasSuffix("-shm") && now.changeTimes != then.changeTimes
        }.sorted().joined(separator: ", ")
    }

    /// The POSIX locks that this process holds on its open files (`man 5 proc_pid_fdinfo`).
    ///
    /// `/proc/locks` doesn't help: it is read in parts, and the locks of the whole system change in between.
    var locks: String {
        let names = Dictionary(entries.map { ($0.value.st_ino, $0.key) }) { first, _ in first }
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let locks = descriptors.flatMap { descriptor -> [String] in
            var status = stat()
            guard fstat(Int32(descriptor) ?? -1, &status) == 0, let name = names[status.st_ino],
                let file = FileHandle(forReadingAtPath: "/proc/self/fdinfo/\(descriptor)"),
                let information = try? file.readToEnd()
            else { return [] }
            return String(decoding: information, as: UTF8.self).split(separator: "\n").compactMap {
                line in
                // As in "lock:   1: POSIX  ADVISORY  WRITE 4711 fe:00:815 1073741824 1073742335".
                let fields = line.split { $0 == " " || $0 == "\t" }
                guard fields.count == 9, fields[0] == "lock:" else { return nil }
                return "\(name) \(fields[4]) \(fields[7])-\(fields[8])"
            }
        }
        // Each lock is listed for every descriptor of its file.
        return Set(locks).sorted().joined(separator: ", ")
    }
}

extension stat {
    /// The time of the last change of the content: seconds and nanoseconds.
    fileprivate var changeTimes: [Int] {
        #if os(Linux)
        [st_mtim.tv_sec, st_mtim.tv_nsec]
        #else
        [st_mtimespec.tv_sec, st_mtimespec.tv_nsec]
        #endif
    }
}

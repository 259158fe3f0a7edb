import Foundation

/// The list of everything that a test could notice, written at once so that it outlives a crash.
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

/// The files of a directory and the locks on them, looked at without opening any.
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

    /// The names of those that differ from an earlier listing.
    ///
    /// The times of a WAL's index don't count: it is mapped into memory, and the system notes writes when it likes.
    func changes(since earlier: Listing) -> String {
        let names = Set(entries.keys).union(earlier.entries.keys)
        return names.filter { name in
            guard let now = entries[name], let then = earlier.entries[name] else { return true }
            if now.st_ino != then.st_ino || now.st_size != then.st_size { return true }
            return !name.hasSuffix("-shm") && now.changeTimes != then.changeTimes
        }.sorted().joined(separator: ", ")
    }

    /// The locks that processes hold, where the system lists them.
    ///
    /// The list is read until it is twice the same: the system tells it in parts, between which it may change.
    var locks: String {
        var (list, earlier) = (readLocks(), "")
        for _ in 0..<20 where list != earlier { (list, earlier) = (readLocks(), list) }
        return list
    }

    private func readLocks() -> String {
        let names = Dictionary(entries.map { (String($0.value.st_ino), $0.key) }) { first, _ in first }
        guard let file = FileHandle(forReadingAtPath: "/proc/locks") else { return "" }
        var content = Data()
        while let part = try? file.read(upToCount: 65536), !part.isEmpty { content += part }
        // Between two parts the list may move, so that a lock is there twice.
        var lines: Set<[Substring]> = []
        return String(decoding: content, as: UTF8.self).split(separator: "\n").compactMap {
            line -> String? in
            // As in "1: POSIX  ADVISORY  WRITE 4711 fe:00:815 1073741824 1073742335".
            let fields = line.split(separator: " ")
            guard fields.count == 8, lines.insert(Array(fields.dropFirst())).inserted,
                let inode = fields[5].split(separator: ":").last,
                let name = names[String(inode)]
            else { return nil }
            return "\(name) \(fields[3]) \(fields[6])-\(fields[7])"
        }.sorted().joined(separator: ", ")
    }
}

extension stat {
    /// The seconds and nanoseconds of the last change of the content.
    fileprivate var changeTimes: [Int] {
        #if os(Linux)
        [st_mtim.tv_sec, st_mtim.tv_nsec]
        #else
        [st_mtimespec.tv_sec, st_mtimespec.tv_nsec]
        #endif
    }
}

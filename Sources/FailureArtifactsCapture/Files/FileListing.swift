internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The regular files below a directory at a point in time, or the one property list of a suite of UserDefaults.
struct FileListing: Sendable {
    /// A file that was found.
    struct Item: Sendable {
        /// The file's attributes; nil for a suite of UserDefaults.
        let status: FileStatus?
        /// The content; nil if it was not kept.
        let content: [UInt8]?
        /// The size, in bytes.
        let size: UInt64
    }

    /// The limits of a listing.
    enum Limit {
        /// The maximum number of files.
        static let files = 2000
        /// The maximum nesting depth of directories.
        static let depth = 20
        /// The maximum size of a file whose content is kept, in bytes.
        static let keptFileBytes: UInt64 = 256 << 10
        /// The maximum total size of the content kept for a directory, in bytes.
        static let keptBytes: UInt64 = 4 << 20
        /// The maximum number of files whose content is kept.
        static let keptFiles = 500
    }

    /// The files by their paths, which are relative to the directory.
    private(set) var items: [String: Item] = [:]
    /// True if no limit and no error cut the listing.
    private(set) var isComplete = true
    /// The time of the listing, in nanoseconds since 1970.
    let date: Int64

    /// Lists the files below a directory, which need not exist, or a single file, without following symbolic links.
    ///
    /// It leaves out one directory, may keep the content of small files, and lists nothing further after the deadline.
    init(
        below directory: String, leavingOut excluded: String, keepsContent: Bool, until deadline: Instant
    ) {
        date = Timestamp.now.nanoseconds
        var room = keepsContent ? Limit.keptBytes : 0
        if let file = FileSystem.regularFile(directory) {
            add(file, at: directory, named: Path.name(of: directory), &room)
            return
        }
        var pending = [""]
        while let parent = pending.popLast() {
            let path = parent.isEmpty ? directory : Path.join(directory, parent)
            guard let names = try? FileSystem.contents(ofDirectory: path) else {
                // The directory itself may not exist yet.
                if !parent.isEmpty { isComplete = false }
                continue
            }
            for name in names {
                guard items.count < Limit.files, Instant.now < deadline else {
                    isComplete = false
                    return
                }
                let relative = parent.isEmpty ? name : parent + "/" + name
                let path = Path.join(directory, relative)
                guard let status = try? FileSystem.statusWithoutFollowing(path) else { continue }
                if status.kind == .regular {
                    add(status, at: path, named: relative, &room)
                } else if status.kind == .directory, path != excluded {
                    if relative.utf8.count(where: { $0 == UInt8(ascii: "/") }) < Limit.depth {
                        pending.append(relative)
                    } else {
                        isComplete = false
                    }
                }
            }
        }
    }

    /// Lists the property list of a suite of UserDefaults by a file name; the content is nil if the suite is empty.
    init(propertyList content: [UInt8]?, named name: String) {
        date = Timestamp.now.nanoseconds
        if let content {
            items[name] = Item(status: nil, content: content, size: UInt64(content.count))
        }
    }

    private mutating func add(
        _ status: FileStatus, at path: String, named name: String, _ room: inout UInt64
    ) {
        var content: [UInt8]?
        if status.size <= min(room, Limit.keptFileBytes), items.count < Limit.keptFiles, room > 0 {
            content = try? WatchedContent.read(path, limit: Limit.keptFileBytes)
            room -= min(room, UInt64(content?.count ?? 0))
        }
        items[name] = Item(status: status, content: content, size: status.size)
    }
}

/// The content of watched files.
enum WatchedContent {
    /// Reads a file, without dropping locks that the process has on it; nil if it is larger than the limit, in bytes.
    static func read(_ path: String, limit: UInt64) throws(SystemError) -> [UInt8]? {
        let file = try File(sharing: path)
        let status = try file.status()
        guard status.kind == .regular, status.size <= limit else { return nil }
        let content = try file.bytes(Int(status.size), at: 0)
        // A borrowed descriptor may have been closed meanwhile, and may be another file's by now.
        return try file.status().identity == status.identity ? content : nil
    }

    /// Returns true if a file is an SQLite database, or a journal beside one.
    static func isOfStore(_ path: String) -> Bool {
        if beginsAsStore(path) { return true }
        return ["-wal", "-shm", "-journal"].contains { suffix in
            path.hasSuffix(suffix) && beginsAsStore(String(path.dropLast(suffix.count)))
        }
    }

    private static func beginsAsStore(_ path: String) -> Bool {
        guard FileSystem.regularFile(path) != nil, let file = try? File(sharing: path) else {
            return false
        }
        return (try? file.bytes(DatabaseHeader.magic.count, at: 0)) == DatabaseHeader.magic
    }
}

/// The attributes that the system reports for a file.
package struct FileStatus: Equatable, Sendable {
    /// A device and inode number, which are equal for two paths of the same file.
    package struct Identity: Hashable, Sendable {
        package let device: UInt64
        package let inode: UInt64

        package init(device: UInt64, inode: UInt64) {
            self.device = device
            self.inode = inode
        }
    }

    package enum Kind: Sendable {
        case regular, directory, other

        /// The kind with its article, for messages.
        package var noun: String {
            switch self {
            case .regular: "a file"
            case .directory: "a directory"
            case .other: "a pipe or a device"
            }
        }
    }

    package let identity: Identity
    package let kind: Kind
    /// The size, in bytes.
    package let size: UInt64
    /// The time of the last change of the content, in nanoseconds since 1970.
    package let modified: Int64
    /// The user ID of the file's owner.
    package let owner: UInt32
    /// The POSIX permission bits.
    package let permissions: UInt16
    /// The number of hard links.
    package let links: UInt64

    /// True for a regular file without further hard links, and for a directory.
    ///
    /// A file that was just removed has no name.
    var isFileWithOneName: Bool { kind == .directory || (kind == .regular && links <= 1) }

    /// The attributes of the file behind a descriptor of this process; nil if the descriptor is closed.
    package init?(ofDescriptor descriptor: CInt) {
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { return nil }
        self.init(information)
    }

    init(_ information: stat) {
        identity = Identity(
            device: UInt64(truncatingIfNeeded: information.st_dev), inode: UInt64(information.st_ino))
        switch information.st_mode & S_IFMT {
        case S_IFREG: kind = .regular
        case S_IFDIR: kind = .directory
        default: kind = .other
        }
        size = UInt64(information.st_size)
        #if canImport(Darwin)
        let changed = information.st_mtimespec
        #else
        let changed = information.st_mtim
        #endif
        modified = Timestamp.nanoseconds(Int64(changed.tv_sec), Int64(changed.tv_nsec))
        owner = information.st_uid
        permissions = UInt16(information.st_mode & 0o777)
        links = UInt64(information.st_nlink)
    }
}

/// The files that any library in this process has open.
package enum OpenFiles {
    /// A regular file.
    package struct Entry: Sendable {
        /// The file's path when it was opened or after it was moved; for a deleted file, its last path.
        package let path: String
        package let status: FileStatus
        /// A path that refers to the file until its owner closes it.
        package let descriptorPath: String
    }

    /// Finds open files that start with the given bytes, in the order of their descriptors and without duplicates.
    ///
    /// They are read through their open descriptors, so that no lock is dropped. Their owners may close them at any
    /// time.
    package static func beginning(with magic: [UInt8]) -> [Entry] {
        guard let descriptors = try? descriptors() else { return [] }
        var seen: Set<FileStatus.Identity> = []
        return descriptors.compactMap { descriptor in
            var information = stat()
            guard fstat(descriptor, &information) == 0 else { return nil }
            let status = FileStatus(information)
            guard status.kind == .regular, !seen.contains(status.identity),
                start(of: descriptor, count: magic.count) == magic, let path = path(of: descriptor)
            else { return nil }
            seen.insert(status.identity)
            return Entry(path: path, status: status, descriptorPath: "/dev/fd/\(descriptor)")
        }
    }

    /// Finds a path for reading a deleted file that is still open; nil if no such file is open.
    ///
    /// It is valid until the file's owner closes the file. If several open files had the same last path, the path of
    /// the one after `other`, the result of an earlier call, is returned.
    package static func descriptorPath(ofDeleted path: String, openedAfter other: String) -> String? {
        let first = CInt(Path.name(of: other)) ?? -1
        let descriptor = (try? descriptors())?.first { descriptor in
            var information = stat()
            return descriptor > first && fstat(descriptor, &information) == 0
                && information.st_nlink == 0 && self.path(of: descriptor) == path
        }
        return descriptor.map { "/dev/fd/\($0)" }
    }

    /// Returns the process's open descriptors in ascending order.
    ///
    /// Some of them may be closed by now.
    static func descriptors() throws(SystemError) -> [CInt] {
        // On Linux and Apple platforms, this lists the process's own descriptors.
        try FileSystem.contents(ofDirectory: "/dev/fd").compactMap { CInt($0) }.sorted()
    }

    /// Returns true if a process has a file open; false if not or if unknown.
    package static func has(_ process: Int32, open identity: FileStatus.Identity) -> Bool {
        if process == getpid() { return (try? FileSystem.descriptor(of: identity)) != nil }
        // On Linux, a user may list the descriptors of their own other processes.
        let directory = "/proc/\(process)/fd"
        let names = (try? FileSystem.contents(ofDirectory: directory)) ?? []
        return names.contains { name in
            (try? FileSystem.status(of: Path.join(directory, name))?.identity) == identity
        }
    }

    private static func start(of descriptor: CInt, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        // Reading fails if the descriptor is open for writing only.
        return pread(descriptor, &bytes, count, 0) == count ? bytes : nil
    }

    private static func path(of descriptor: CInt) -> String? {
        #if canImport(Darwin)
        var bytes = [CChar](repeating: 0, count: Int(MAXPATHLEN))
        guard fcntl(descriptor, F_GETPATH, &bytes) == 0 else { return nil }
        return bytes.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
        #else
        guard let path = try? FileSystem.destination(ofLink: "/proc/self/fd/\(descriptor)") else {
            return nil
        }
        let mark = " (deleted)"
        guard path.hasSuffix(mark) else { return path }
        // The kernel added the suffix, unless a file has exactly that name.
        return (try? FileSystem.status(of: path)) == nil ? String(path.dropLast(mark.count)) : path
        #endif
    }
}

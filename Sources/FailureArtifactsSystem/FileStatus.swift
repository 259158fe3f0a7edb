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

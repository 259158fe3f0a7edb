/// What the system says of a file without opening it.
package struct FileStatus: Equatable, Sendable {
    /// The two numbers that tell whether two paths name one file.
    package struct Identity: Hashable, Sendable {
        package let device: UInt64
        package let inode: UInt64

        package init(device: UInt64, inode: UInt64) {
            self.device = device
            self.inode = inode
        }
    }

    /// The kinds of file this project tells apart.
    package enum Kind: Sendable {
        case regular, directory, other
    }

    package let identity: Identity
    package let kind: Kind
    /// In bytes.
    package let size: UInt64
    /// Time of the last change of the content, in nanoseconds since 1970.
    package let modified: Int64
    /// Time of the last use, in nanoseconds since 1970; many systems keep it by the day only.
    ///
    /// To look at a file is no change of it: this does not count when two are compared.
    package let accessed: Int64
    /// Whose file it is.
    package let owner: UInt32
    /// The nine bits of who may do what.
    package let permissions: UInt16
    /// How many names it has; that it has another one is no change of it either.
    package let links: UInt64

    /// What a descriptor of this process is open on; nil for one that is closed.
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
        let (changed, used) = (information.st_mtimespec, information.st_atimespec)
        #else
        let (changed, used) = (information.st_mtim, information.st_atim)
        #endif
        modified = Int64(changed.tv_sec) * 1_000_000_000 + Int64(changed.tv_nsec)
        accessed = Int64(used.tv_sec) * 1_000_000_000 + Int64(used.tv_nsec)
        owner = information.st_uid
        permissions = UInt16(information.st_mode & 0o777)
        links = UInt64(information.st_nlink)
    }

    package static func == (left: FileStatus, right: FileStatus) -> Bool {
        left.identity == right.identity && left.kind == right.kind && left.size == right.size
            && left.modified == right.modified && left.owner == right.owner
            && left.permissions == right.permissions
    }
}

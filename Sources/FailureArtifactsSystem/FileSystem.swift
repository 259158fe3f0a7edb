/// Operations on paths.
package enum FileSystem {
    /// Returns the attributes of the file at `path`, following links; nil if the path doesn't exist.
    package static func status(of path: String) throws(SystemError) -> FileStatus? {
        try status(path, stat)
    }

    /// Returns the attributes of `path` itself, without following a link; nil if nothing is there.
    package static func statusWithoutFollowing(_ path: String) throws(SystemError) -> FileStatus? {
        try status(path, lstat)
    }

    private static func status(
        _ path: String, _ examine: (UnsafePointer<CChar>, UnsafeMutablePointer<stat>) -> CInt
    ) throws(SystemError) -> FileStatus? {
        var information = stat()
        if path.withCString({ examine($0, &information) }) == 0 { return FileStatus(information) }
        let error = SystemError.last("examine", path)
        if error.isNotFound { return nil }
        throw error
    }

    /// Returns the attributes of a regular file; nil if the path names none or this process can't see it.
    package static func regularFile(_ path: String) -> FileStatus? {
        guard let status = try? status(of: path), status.kind == .regular else { return nil }
        return status
    }

    /// Returns the attributes of a regular file; nil if the path names none.
    ///
    /// If it throws an error, the file may exist.
    package static func regularFile(at path: String) throws(SystemError) -> FileStatus? {
        do throws(SystemError) {
            guard let status = try status(of: path), status.kind == .regular else { return nil }
            return status
        } catch {
            // No file can have so long a name.
            guard error.code == ENAMETOOLONG else { throw error }
            return nil
        }
    }

    /// Finds a readable descriptor, other than `own`, by which this process has a file open; nil without one.
    ///
    /// Its owner may close it at any time. This throws an error if the descriptors can't be listed, for example because
    /// the process has none left.
    package static func descriptor(
        of identity: FileStatus.Identity, otherThan own: CInt = -1
    ) throws(SystemError) -> CInt? {
        for descriptor in try OpenFiles.descriptors() where descriptor != own {
            if try reads(descriptor, identity) { return descriptor }
        }
        return nil
    }

    /// Returns true if a descriptor refers to a file and can read it.
    private static func reads(
        _ descriptor: CInt, _ identity: FileStatus.Identity
    ) throws(SystemError) -> Bool {
        guard let status = FileStatus(ofDescriptor: descriptor) else {
            // The descriptor was closed in the meantime.
            if errno == EBADF { return false }
            throw .last("examine", "/dev/fd/\(descriptor)")
        }
        guard status.identity == identity else { return false }
        // A descriptor that was opened for writing only, or with `O_PATH`, can't read. A read error of the disk
        // doesn't mean that the file is closed: opening and closing it would still drop its locks.
        var byte: UInt8 = 0
        return pread(descriptor, &byte, 1, 0) >= 0 || errno != EBADF
    }

    /// The default permissions of a new directory: only its owner has access.
    package static let directoryPermissions: UInt16 = 0o700

    /// Creates a directory and its missing parents.
    ///
    /// An existing directory stays unchanged. The owner's permissions are set despite the process's umask.
    package static func createDirectory(
        _ path: String, permissions: UInt16 = directoryPermissions
    ) throws(SystemError) {
        let parent = Path.directory(of: path)
        // Processes that end at the same time may remove the directory many times in a row. The limit ends
        // the loop if the path is a dangling link.
        var attemptsLeft = 10_000
        while true {
            if mkdir(path, mode_t(permissions)) == 0 { return openToOwner(path, permissions) }
            let error = SystemError.last("create directory", path)
            attemptsLeft -= 1
            if error.isAlreadyExists {
                let kind = try status(of: path)?.kind
                if kind == .directory { return }
                // Nil if another process has removed it in the meantime.
                guard kind == nil, attemptsLeft > 0 else { throw error }
            } else {
                // The parent may be removed too, before the directory is created.
                guard error.isNotFound, parent != path, !parent.isEmpty, attemptsLeft > 0 else {
                    throw error
                }
                try createDirectory(parent, permissions: permissions)
            }
        }
    }

    /// Restores the owner's permissions that a test's umask removed from a new directory.
    private static func openToOwner(_ path: String, _ permissions: UInt16) {
        let owner = permissions & 0o700
        guard let now = try? status(of: path)?.permissions, now & owner != owner else { return }
        _ = chmod(path, mode_t(now | owner))
    }

    /// Gives an empty directory of root, the user of this process, to the owner of another directory.
    ///
    /// It follows no link. The owner of the parent may put another directory in its place, of which nothing but the
    /// owner changes, if it is empty.
    package static func giveAway(_ path: String, toOwnerOf other: String) {
        var information = stat()
        guard geteuid() == 0, lstat(other, &information) == 0, information.st_uid != 0 else { return }
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard FileStatus(ofDescriptor: descriptor)?.owner == 0,
            (try? contents(ofDirectory: "/dev/fd/\(descriptor)")) == []
        else { return }
        _ = fchown(descriptor, information.st_uid, information.st_gid)
    }

    /// The directory for temporary files: `TMPDIR`, by default `/tmp`.
    package static var temporaryDirectory: String {
        guard let given = getenv("TMPDIR"), given.pointee != 0 else { return "/tmp" }
        return String(cString: given)
    }

    /// Returns the reason why a directory can't be created or written to; nil if the permissions allow it.
    ///
    /// It creates nothing and checks permissions only, so writing may still fail for other reasons. The absolute path
    /// and its parents may be missing.
    package static func obstacle(toWritingInto path: String) -> SystemError? {
        do throws(SystemError) {
            guard let status = try status(of: path) else {
                let parent = Path.directory(of: path)
                return parent == path ? nil : obstacle(toWritingInto: parent)
            }
            guard status.kind == .directory else {
                return SystemError("create directory", path, code: EEXIST)
            }
            return access(path, W_OK | X_OK) == 0 ? nil : .last("write to", path)
        } catch {
            return error
        }
    }

    /// Creates a directory that only its owner can access, in an existing directory.
    ///
    /// Its unique name consists of the prefix and six random characters.
    package static func createUniqueDirectory(
        in parent: String, prefix: String
    ) throws(SystemError) -> String {
        let pattern = Path.join(parent, prefix + "XXXXXX")
        var template = Array(pattern.utf8CString)
        guard mkdtemp(&template) != nil else { throw .last("create a directory in", parent) }
        let path = template.withUnsafeBufferPointer { buffer in
            buffer.baseAddress.map { String(cString: $0) } ?? pattern
        }
        openToOwner(path, directoryPermissions)
        return path
    }

    /// Returns the names in a directory, without `.` and `..`, sorted by their UTF-8 bytes.
    package static func contents(ofDirectory path: String) throws(SystemError) -> [String] {
        guard let stream = opendir(path) else { throw .last("list", path) }
        defer { closedir(stream) }
        var names: [String] = []
        errno = 0
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
            errno = 0
        }
        guard errno == 0 else { throw .last("list", path) }
        return names.sorted()
    }

    /// Returns the total size, in bytes, of the regular files at or below a path.
    ///
    /// Unreadable ones don't count.
    package static func size(ofAllBelow path: String) -> UInt64 {
        guard let status = try? status(of: path) else { return 0 }
        guard status.kind == .directory else { return status.kind == .regular ? status.size : 0 }
        let names = (try? contents(ofDirectory: path)) ?? []
        return names.reduce(0) { $0 + size(ofAllBelow: Path.join(path, $1)) }
    }

    /// Returns the number of bytes that an unprivileged user may still write to a path's volume; nil if
    /// unknown.
    package static func freeBytes(ofVolumeAt path: String) -> UInt64? {
        var information = statvfs()
        guard systemStatvfs(path, &information) == 0 else { return nil }
        let (bytes, overflow) = UInt64(information.f_bavail)
            .multipliedReportingOverflow(by: UInt64(information.f_frsize))
        return overflow ? .max : bytes
    }

    /// Removes a file, a link, or a directory with its contents, if it exists.
    package static func remove(_ path: String) throws(SystemError) {
        if unlink(path) == 0 { return }
        let error = SystemError.last("remove", path)
        if error.isNotFound { return }
        // For a directory, Linux reports EISDIR; POSIX and Darwin report EPERM.
        guard error.code == EISDIR || error.code == EPERM else { throw error }
        for name in try contents(ofDirectory: path) {
            try remove(Path.join(path, name))
        }
        try removeEmptyDirectory(path)
    }

    /// Unlinks a file; never removes directories.
    package static func removeFile(_ path: String) throws(SystemError) {
        guard unlink(path) == 0 else { throw .last("remove", path) }
    }

    /// Removes an empty directory; fails with `ENOTEMPTY` if it has contents.
    package static func removeEmptyDirectory(_ path: String) throws(SystemError) {
        guard rmdir(path) == 0 || errno == ENOENT else { throw .last("remove", path) }
    }

    /// Renames a file, replacing a file that has the new name.
    package static func rename(_ old: String, to new: String) throws(SystemError) {
        guard systemRename(old, new) == 0 else { throw .last("rename '\(old)' to", new) }
    }

    /// Renames a file in one step; fails with `EEXIST` if the new name is taken.
    package static func renameExclusively(_ old: String, to new: String) throws(SystemError) {
        // link(2) refuses an existing name, which rename(2) would replace.
        if systemLink(old, new) == 0 {
            // The file has its new name. A leftover old name is no reason to report a failure.
            try? remove(old)
            return
        }
        let error = SystemError.last("rename '\(old)' to", new)
        let hasNoLinks = error.code == EPERM || error.code == ENOTSUP || error.code == ENOSYS
        guard hasNoLinks else { throw error }
        guard try status(of: new) == nil else {
            throw SystemError("rename '\(old)' to", new, code: EEXIST)
        }
        try rename(old, to: new)
    }

    /// Sets the permissions of a file or directory, ignoring the process's umask.
    package static func setPermissions(_ permissions: UInt16, of path: String) throws(SystemError) {
        guard chmod(path, mode_t(permissions)) == 0 else {
            throw .last("change the permissions of", path)
        }
    }

    /// Waits until the system has written a directory's entries to the disk.
    package static func synchronizeDirectory(_ path: String) throws(SystemError) {
        let directory = try File(reading: path)
        try directory.synchronize()
    }

    /// Returns the content of a file, also of one that reports no size, such as a file in `/proc`; fails with `EFBIG` if it
    /// has more bytes than the limit.
    package static func contents(
        ofFile path: String, limit: Int = 64 << 20
    ) throws(SystemError) -> [UInt8] {
        let file = try File(reading: path)
        guard try file.size() <= UInt64(limit) else { throw SystemError("read", path, code: EFBIG) }
        let block = Int(max(try file.size() + 1, 4096))
        var bytes = try file.bytes(block, at: 0)
        while bytes.count >= block, bytes.count % block == 0 {
            guard bytes.count <= limit else { throw SystemError("read", path, code: EFBIG) }
            let next = try file.bytes(block, at: UInt64(bytes.count))
            bytes += next
            if next.isEmpty { break }
        }
        return bytes
    }

    package static func destination(ofLink path: String) throws(SystemError) -> String {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &bytes, bytes.count)
        guard count >= 0 else { throw .last("read link", path) }
        return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns the path of an existing file with all links resolved; nil if there is no such file.
    package static func realPath(of path: String) -> String? {
        guard let result = realpath(path, nil) else { return nil }
        defer { free(result) }
        return String(cString: result)
    }

    /// Copies the bytes of a file, which this process may have open as a database, to a path that must not exist.
    ///
    /// It copies at most the size that the file has when copying begins, and no more than `maximumBytes`: a file that
    /// is being written all the time has no end. After an error, the incomplete copy stays. Fails for anything but a
    /// regular file.
    package static func copy(
        _ source: String, toNewFile target: String, maximumBytes: UInt64 = .max
    ) throws(SystemError) {
        for _ in 1..<sharedReads {
            do throws(SystemError) {
                return try copy(File(sharing: source), toNewFile: target, maximumBytes: maximumBytes)
            } catch  where error.code == EBADF {
                // The owner of the borrowed descriptor has closed it. Try again.
                if try status(of: target) != nil { try remove(target) }
            }
        }
        try copy(File(sharing: source), toNewFile: target, maximumBytes: maximumBytes)
    }

    /// The maximum number of attempts to copy a file through borrowed descriptors.
    private static let sharedReads = 8

    /// Copies an open file's bytes to a path that must not exist.
    ///
    /// It copies at most the size that the file has when copying begins, and no more than `maximumBytes`. After an
    /// error, the incomplete copy stays.
    package static func copy(
        _ input: borrowing File, toNewFile target: String, maximumBytes: UInt64 = .max
    ) throws(SystemError) {
        let status = try input.status()
        let identity = status.identity
        let output = try File(creating: target)
        do throws(SystemError) {
            try copyBytes(min(status.size, maximumBytes), of: input, to: output)
        } catch {
            // By now, the descriptor may refer to a directory or a pipe.
            try expect(identity, of: input)
            throw error
        }
        try expect(identity, of: input)
        try output.close()
    }

    private static func copyBytes(
        _ size: UInt64, of input: borrowing File, to output: borrowing File
    ) throws(SystemError) {
        var block = try input.readingBlock()
        var offset: UInt64 = 0
        while offset < size {
            let count = try block.withMutableBytes { (buffer) throws(SystemError) in
                let wanted = Int(min(UInt64(buffer.count), size - offset))
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
                let count = try input.read(into: part, at: offset)
                try output.write(UnsafeRawBufferPointer(rebasing: part[..<count]), at: offset)
                return count
            }
            // The file has become shorter.
            if count == 0 { return }
            offset += UInt64(count)
        }
    }

    /// Fails with `EBADF` if a borrowed descriptor now refers to another file.
    private static func expect(
        _ identity: FileStatus.Identity, of input: borrowing File
    ) throws(SystemError) {
        guard try input.status().identity == identity else {
            throw SystemError("read", input.path, code: EBADF)
        }
    }

    package static func hasSameContent(
        _ left: borrowing File, _ right: borrowing File
    ) throws(SystemError) -> Bool {
        let block = 1 << 20
        var offset: UInt64 = 0
        while true {
            let bytes = try left.bytes(block, at: offset)
            guard try bytes == right.bytes(block, at: offset) else { return false }
            if bytes.count < block { return true }
            offset += UInt64(block)
        }
    }

    package static func write(_ bytes: [UInt8], toNewFile path: String) throws(SystemError) {
        let file = try File(creating: path)
        try file.write(bytes, at: 0)
        try file.close()
    }
}

// Within `FileSystem`, `rename` means the method.
private func systemRename(_ old: String, _ new: String) -> CInt { rename(old, new) }
private func systemStatvfs(_ path: String, _ information: inout statvfs) -> CInt {
    statvfs(path, &information)
}
private func systemLink(_ old: String, _ new: String) -> CInt { link(old, new) }

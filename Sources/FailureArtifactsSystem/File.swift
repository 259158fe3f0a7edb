/// An open file, read and written at explicit offsets.
///
/// All input and output is positional, so a `File` has no state besides its descriptor and may be used from
/// several threads at once. It is closed when it goes out of scope.
///
/// Never open a live SQLite database with it in the process that has that database open: closing *any*
/// descriptor of a file drops the process's POSIX locks on it, SQLite's among them
/// (<https://www.sqlite.org/howtocorrupt.html>, section 2.2).
///
/// Other code in the process may close the descriptor, and open a file of its own under the same number. That file is
/// neither written to nor closed: a `File` compares the device and inode before.
package struct File: ~Copyable, Sendable {
    /// The path at which the file was opened, for error messages.
    package let path: String
    // The file descriptor; −1 once closed. (`discard self` can't replace this: it accepts trivial members
    // only.)
    package private(set) var descriptor: CInt
    private let ownership: Ownership
    /// The file's identity when it was opened; nil if it could not be examined.
    private let identity: FileStatus.Identity?

    private enum Ownership {
        /// Opened by this value, and closed by it.
        case owned
        /// Opened by this value, but closed only if nothing else in the process has the file open.
        case shared
        /// Opened and closed by other code in this process.
        case borrowed
    }

    private init(
        path: String, flags: CInt, permissions: mode_t, operation: String, ownership: Ownership = .owned,
        check: (FileStatus?) throws(SystemError) -> Void = { _ in }
    ) throws(SystemError) {
        self.path = path
        var result: CInt
        repeat {
            result = open(path, flags | O_CLOEXEC, permissions)
        } while result < 0 && errno == EINTR
        guard result >= 0 else { throw .last(operation, path) }
        do throws(SystemError) {
            // The path may have been replaced since the caller looked at it.
            try check(FileStatus(ofDescriptor: result))
        } catch {
            _ = systemClose(result)
            throw error
        }
        descriptor = try Self.avoidingStandardStreams(result, operation, path)
        self.ownership = ownership
        identity = FileStatus(ofDescriptor: descriptor)?.identity
    }

    /// Moves a new descriptor out of the range of the standard streams.
    ///
    /// If a process starts with a standard stream closed, the next file that it opens gets that stream's
    /// number. Everything printed to the stream would then be written to the file.
    private static func avoidingStandardStreams(
        _ descriptor: CInt, _ operation: String, _ path: String
    ) throws(SystemError) -> CInt {
        guard descriptor <= STDERR_FILENO else { return descriptor }
        let result = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
        let error = SystemError.last(operation, path)
        _ = systemClose(descriptor)
        guard result >= 0 else { throw error }
        return result
    }

    private init(path: String, borrowing descriptor: CInt) {
        self.path = path
        self.descriptor = descriptor
        ownership = .borrowed
        identity = nil
    }

    /// Opens an existing file for reading.
    ///
    /// Opening a pipe doesn't wait for a writer; reading from it fails.
    package init(reading path: String) throws(SystemError) {
        try self.init(
            path: path, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY, permissions: 0, operation: "open")
    }

    /// Opens an existing file for reading without dropping this process's POSIX locks on it.
    ///
    /// If any library in this process has the file open already, this value borrows that descriptor and opens
    /// nothing. If the descriptor's owner closes it in the meantime, reading fails or returns another file's
    /// bytes: compare ``status()`` afterwards.
    ///
    /// Otherwise the file is opened. If the process opens the file again in the meantime, this value leaves
    /// its own descriptor open. If the system can't list the process's open files, this initializer throws an
    /// error. It also throws an error for anything but a regular file, such as a pipe, without opening it.
    package init(sharing path: String) throws(SystemError) {
        let status = try FileSystem.status(of: path)
        try Self.requireRegular(status, path)
        if let identity = status?.identity, let descriptor = try FileSystem.descriptor(of: identity) {
            self.init(path: path, borrowing: descriptor)
        } else {
            try self.init(
                path: path, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY, permissions: 0, operation: "open",
                ownership: .shared
            ) { (status) throws(SystemError) in try Self.requireRegular(status, path) }
        }
    }

    /// Fails with `EISDIR` for a directory and with `ENOTSUP` for a pipe or a device.
    private static func requireRegular(_ status: FileStatus?, _ path: String) throws(SystemError) {
        switch status?.kind {
        case .regular, nil: return
        case .directory: throw SystemError("open", path, code: EISDIR)
        case .other: throw SystemError("open", path, code: ENOTSUP)
        }
    }

    /// Opens an existing file for reading and writing.
    package init(updating path: String) throws(SystemError) {
        try self.init(path: path, flags: O_RDWR, permissions: 0, operation: "open")
    }

    /// Opens or creates a file of fixed name for reading and writing, in a directory that others may write to.
    ///
    /// A link, a pipe or a device at that path is removed, and so is a name that is not the file's only one. Otherwise
    /// others could choose a file for this process to overwrite. A file that denies access, such as root's, is replaced.
    package static func updatingOwn(_ path: String) throws(SystemError) -> File {
        var attemptsLeft = 100
        while true {
            attemptsLeft -= 1
            do throws(SystemError) {
                return try File(updatingOnly: path)
            } catch  where error.code == ELOOP || error.code == EACCES {
                try FileSystem.remove(path)
            } catch {
                guard error.isNotFound else { throw error }
            }
            do throws(SystemError) {
                return try File(creating: path)
            } catch {
                // Another process has just created the file.
                guard error.isAlreadyExists, attemptsLeft > 0 else { throw error }
            }
        }
    }

    /// Opens a regular file that has only this name; fails with `ELOOP` for a link, a pipe or a device.
    private init(updatingOnly path: String) throws(SystemError) {
        try Self.requireOneName(FileSystem.statusWithoutFollowing(path), path)
        try self.init(
            path: path, flags: O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, permissions: 0,
            operation: "open"
        ) { (status) throws(SystemError) in try Self.requireOneName(status, path) }
    }

    private static func requireOneName(_ status: FileStatus?, _ path: String) throws(SystemError) {
        guard let status, !status.isFileWithOneName else { return }
        throw SystemError("open", path, code: ELOOP)
    }

    /// Creates a file for reading and writing; fails with `EEXIST` if the path exists already.
    ///
    /// The permissions are those before the process's umask, but the owner's bits are set despite the umask.
    package init(creating path: String, permissions: UInt16 = 0o600) throws(SystemError) {
        try self.init(
            path: path, flags: O_RDWR | O_CREAT | O_EXCL, permissions: mode_t(permissions),
            operation: "create")
        // A test may have set a umask that denies the owner access.
        let owner = permissions & 0o700
        if let now = try? status().permissions, now & owner != owner {
            _ = fchmod(descriptor, mode_t(now | owner))
        }
    }

    deinit {
        guard descriptor >= 0, mayClose else { return }
        _ = systemClose(descriptor)
    }

    /// True if the descriptor still refers to the file.
    var isOpen: Bool { FileStatus(ofDescriptor: descriptor)?.identity == identity }

    /// Throws an error if other code has closed the descriptor.
    private func checkIsOpen(_ operation: String) throws(SystemError) {
        guard isOpen else { throw SystemError(operation, path, code: EBADF) }
    }

    private var mayClose: Bool {
        switch ownership {
        case .owned: return isOpen
        case .borrowed: return false
        case .shared:
            // If in doubt, leak a descriptor rather than drop a lock.
            guard isOpen else { return false }
            do throws(SystemError) {
                return try FileSystem.descriptor(of: status().identity, otherThan: descriptor) == nil
            } catch {
                return false
            }
        }
    }

    /// Closes the file, and reports an error that a delayed write raises only now.
    package consuming func close() throws(SystemError) {
        guard mayClose else { return }
        let closing = descriptor
        descriptor = -1
        // After EINTR the descriptor's state is unspecified by POSIX and closed on Linux: never close twice.
        guard systemClose(closing) == 0 || errno == EINTR else { throw .last("close", path) }
    }

    package func size() throws(SystemError) -> UInt64 {
        try status().size
    }

    /// Sets the time of the last change to now, as far as this is permitted.
    package func touch() { _ = futimens(descriptor, nil) }

    package func status() throws(SystemError) -> FileStatus {
        guard let status = FileStatus(ofDescriptor: descriptor) else { throw .last("examine", path) }
        return status
    }

    /// Reads until `buffer` is full or the file ends, and returns the number of bytes read.
    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(SystemError) -> Int {
        var done = 0
        while done < buffer.count {
            guard let base = buffer.baseAddress else { break }
            let count = pread(descriptor, base + done, buffer.count - done, off_t(offset) + off_t(done))
            if count < 0 {
                if errno == EINTR { continue }
                throw .last("read", path)
            }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Reads a part of the file; the result is shorter only at the end of the file.
    package func bytes(_ count: Int, at offset: UInt64) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let read = try bytes.withMutableBytes { (buffer) throws(SystemError) in
            try self.read(into: buffer, at: offset)
        }
        bytes.removeLast(count - read)
        return bytes
    }

    /// Returns a zeroed buffer: with one byte more than a small file, so that the first read detects the end.
    package func readingBlock() throws(SystemError) -> [UInt8] {
        // Clearing 1 MiB takes longer than reading a small file.
        [UInt8](repeating: 0, count: Int(min(max(try size() + 1, 4096), 1 << 20)))
    }

    /// Maps the file into memory and passes its bytes to `body`.
    ///
    /// The file must not be truncated until `body` returns.
    package func withMappedBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result {
        let size = Int(try size())
        guard size > 0 else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        let address = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0)
        guard let address, address != MAP_FAILED else { throw SystemError.last("map", path) }
        defer { munmap(address, size) }
        return try body(UnsafeRawBufferPointer(start: address, count: size))
    }

    package func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(SystemError) {
        try checkIsOpen("write to")
        var done = 0
        while done < buffer.count {
            guard let base = buffer.baseAddress else { break }
            let count = pwrite(descriptor, base + done, buffer.count - done, off_t(offset) + off_t(done))
            if count < 0 {
                if errno == EINTR { continue }
                throw .last("write to", path)
            }
            // A device that writes nothing and reports no error would make this loop endless.
            guard count > 0 else { throw SystemError("write to", path, code: EIO) }
            done += count
        }
    }

    package func write(_ bytes: [UInt8], at offset: UInt64) throws(SystemError) {
        try bytes.withBytes { (buffer) throws(SystemError) in try write(buffer, at: offset) }
    }

    /// Truncates the file, or extends it with zeros.
    package func resize(to size: UInt64) throws(SystemError) {
        try checkIsOpen("resize")
        while ftruncate(descriptor, off_t(clamping: size)) != 0 {
            guard errno == EINTR else { throw .last("resize", path) }
        }
    }

    /// Waits until the system has written the file's content to the disk.
    package func synchronize() throws(SystemError) {
        while fsync(descriptor) != 0 {
            guard errno == EINTR else { throw .last("write to", path) }
        }
    }
}

// MARK: Locks

extension File {
    /// Takes the file's lock without waiting; returns false if another open file holds it.
    ///
    /// The lock lasts until the file is closed or the process ends. This is a `flock` lock, which SQLite doesn't use.
    /// Directories can be locked too.
    package func tryLock() throws(SystemError) -> Bool {
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
        guard errno == EWOULDBLOCK else { throw .last("lock", path) }
        return false
    }

    /// Releases the lock of ``tryLock()``, even if a child made by `fork` has the descriptor too.
    package func unlock() {
        if isOpen { _ = flock(descriptor, LOCK_UN) }
    }

    /// Finds the process that holds an exclusive POSIX lock on a byte; nil without one, and on systems other than
    /// Linux.
    ///
    /// It may be this process. The process ID is 0 or negative if the process is in another container, or if the lock
    /// belongs to an open file description. The byte may lie beyond the end of the file.
    ///
    /// This takes no lock. `F_GETLK` would ignore this process's locks. `F_OFD_GETLK` asks on behalf of the open file,
    /// which has none (`man 2 fcntl_locking`).
    package func exclusiveLockHolder(at byte: UInt64) -> Int32? {
        #if os(Linux)
        // F_OFD_GETLK. Swift doesn't import this constant of <linux/fcntl.h>.
        let getLock: CInt = 36
        // Only an exclusive lock conflicts with a shared one.
        var lock = flock()
        lock.l_type = Int16(F_RDLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = off_t(byte)
        lock.l_len = 1
        guard fcntl(descriptor, getLock, &lock) == 0, lock.l_type == Int16(F_WRLCK) else {
            return nil
        }
        return lock.l_pid
        #else
        return nil
        #endif
    }
}

// Within `File`, `close` means the method.
private func systemClose(_ descriptor: CInt) -> CInt { close(descriptor) }

/// An open file, read and written at explicit offsets.
///
/// All input and output is positional, so a `File` has no state besides its descriptor and may be used from
/// several threads at once. It is closed when it goes out of scope.
///
/// Never open a live SQLite database with it in the process that has that database open: closing *any*
/// descriptor of a file drops the process's POSIX locks on it, SQLite's among them
/// (<https://www.sqlite.org/howtocorrupt.html>, section 2.2).
package struct File: ~Copyable, Sendable {
    /// The path the file was opened at, for error messages.
    package let path: String
    // −1 once closed. (`discard self` cannot do this: it takes trivial members only.)
    private(set) var descriptor: CInt
    private let ownership: Ownership

    private enum Ownership {
        /// Opened here, to be closed here.
        case owned
        /// Opened here, but closed only while nobody else in the process has the file open.
        case shared
        /// Somebody else's.
        case borrowed
    }

    private init(
        path: String, flags: CInt, permissions: mode_t, operation: String, ownership: Ownership = .owned
    ) throws(SystemError) {
        self.path = path
        var result: CInt
        repeat {
            result = open(path, flags | O_CLOEXEC, permissions)
        } while result < 0 && errno == EINTR
        guard result >= 0 else { throw .last(operation, path) }
        descriptor = try Self.outsideOfStandardStreams(result, operation, path)
        self.ownership = ownership
    }

    /// The same open file under a descriptor that is not taken for a standard stream.
    ///
    /// In a process that was started with one of those closed, the next file that is opened gets its number, and
    /// whatever anybody prints would be written to it.
    private static func outsideOfStandardStreams(
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
    }

    /// Opens an existing file for reading.
    package init(reading path: String) throws(SystemError) {
        try self.init(path: path, flags: O_RDONLY, permissions: 0, operation: "open")
    }

    /// Reads an existing file in a way that drops no POSIX lock which this process has on it.
    ///
    /// Where the process has the file open already, by whatever library, that descriptor is read and nothing
    /// is opened or closed. If its owner closes it meanwhile, reading fails or gives another file's bytes:
    /// compare ``status()`` afterwards. Where it has not, but opens the file meanwhile, the descriptor is
    /// left open. Where the system does not tell what is open, it is not opened at all.
    package init(sharing path: String) throws(SystemError) {
        if let identity = try FileSystem.status(of: path)?.identity,
            let descriptor = try FileSystem.descriptor(of: identity)
        {
            self.init(path: path, borrowing: descriptor)
        } else {
            try self.init(
                path: path, flags: O_RDONLY, permissions: 0, operation: "open", ownership: .shared)
        }
    }

    /// Opens an existing file for reading and writing.
    package init(updating path: String) throws(SystemError) {
        try self.init(path: path, flags: O_RDWR, permissions: 0, operation: "open")
    }

    /// Creates a file for reading and writing; fails with `EEXIST` where there is one of that name.
    ///
    /// - Parameters:
    ///   - path: Where the file is created.
    ///   - permissions: The mode before the process's umask, of which the owner's part counts in any case; by
    ///     default only the owner reads and writes.
    /// - Throws: The failure of `open`.
    package init(creating path: String, permissions: UInt16 = 0o600) throws(SystemError) {
        try self.init(
            path: path, flags: O_RDWR | O_CREAT | O_EXCL, permissions: mode_t(permissions),
            operation: "create")
        // A test may have set a mask that keeps the owner out too.
        let owner = permissions & 0o700
        if let now = try? status().permissions, now & owner != owner {
            _ = fchmod(descriptor, mode_t(now | owner))
        }
    }

    deinit {
        guard descriptor >= 0, mayClose else { return }
        _ = systemClose(descriptor)
    }

    private var mayClose: Bool {
        switch ownership {
        case .owned: return true
        case .borrowed: return false
        case .shared:
            // Rather one descriptor less than a lock.
            do throws(SystemError) {
                return try FileSystem.descriptor(of: status().identity, otherThan: descriptor) == nil
            } catch {
                return false
            }
        }
    }

    /// Closes the file and reports what a delayed write may only say now.
    package consuming func close() throws(SystemError) {
        guard mayClose else { return }
        let closing = descriptor
        descriptor = -1
        // After EINTR the descriptor's state is unspecified by POSIX and closed on Linux: never close twice.
        guard systemClose(closing) == 0 || errno == EINTR else { throw .last("close", path) }
    }

    /// The file's size in bytes.
    package func size() throws(SystemError) -> UInt64 {
        try status().size
    }

    /// Size, identity and times of the open file.
    package func status() throws(SystemError) -> FileStatus {
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { throw .last("examine", path) }
        return FileStatus(information)
    }

    /// Reads until `buffer` is full or the file ends.
    ///
    /// - Parameters:
    ///   - buffer: Where the bytes go.
    ///   - offset: The position of the first byte, from the start of the file.
    /// - Returns: How many bytes were read; fewer than `buffer.count` only at the end of the file.
    /// - Throws: The failure of `pread`.
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

    /// Room to read the file with: for all of a small one, so that the first read tells of its end, and for
    /// 1 MiB of others.
    ///
    /// - Throws: The failure of `fstat`.
    package func readingBlock() throws(SystemError) -> [UInt8] {
        // To clear a MiB takes longer than to read a small file.
        [UInt8](repeating: 0, count: Int(min(max(try size() + 1, 4096), 1 << 20)))
    }

    /// Has `body` see all bytes of the file, which are read as it touches them.
    ///
    /// - Parameter body: Gets the bytes. Nobody may shorten the file meanwhile.
    /// - Returns: What `body` returns.
    /// - Throws: The failure of `mmap`, or what `body` throws.
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

    /// Writes all of `buffer`.
    ///
    /// - Parameters:
    ///   - buffer: The bytes to write.
    ///   - offset: The position of the first byte, from the start of the file.
    /// - Throws: The failure of `pwrite`.
    package func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(SystemError) {
        var done = 0
        while done < buffer.count {
            guard let base = buffer.baseAddress else { break }
            let count = pwrite(descriptor, base + done, buffer.count - done, off_t(offset) + off_t(done))
            if count < 0 {
                if errno == EINTR { continue }
                throw .last("write to", path)
            }
            // Neither written nor refused, for ever.
            guard count > 0 else { throw SystemError("write to", path, code: EIO) }
            done += count
        }
    }

    /// Cuts the file, or lengthens it with zeros.
    package func resize(to size: UInt64) throws(SystemError) {
        while ftruncate(descriptor, off_t(clamping: size)) != 0 {
            guard errno == EINTR else { throw .last("resize", path) }
        }
    }

    /// Takes the file's lock, which lasts until it is closed or the process ends; false where another has it.
    ///
    /// This is `flock`, of which SQLite knows nothing. A directory has such a lock too.
    package func tryLock() throws(SystemError) -> Bool {
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
        guard errno == EWOULDBLOCK else { throw .last("lock", path) }
        return false
    }

    /// Gives the lock of ``tryLock()`` back, also where a child made by `fork` has the descriptor too.
    package func unlock() {
        _ = flock(descriptor, LOCK_UN)
    }

    /// Has the system write the file's content to the disk.
    package func synchronize() throws(SystemError) {
        while fsync(descriptor) != 0 {
            guard errno == EINTR else { throw .last("write to", path) }
        }
    }
}

// Inside `File`, `close` is the method.
private func systemClose(_ descriptor: CInt) -> CInt { close(descriptor) }

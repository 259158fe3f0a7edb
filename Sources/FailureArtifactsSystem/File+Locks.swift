extension File {
    /// Takes the file's lock without waiting.
    ///
    /// The lock lasts until the file is closed or the process ends.
    ///
    /// This is a `flock` lock, which SQLite doesn't use. Directories can be locked too.
    ///
    /// - Returns: False if another open file holds the lock.
    /// - Throws: The failure of `flock`.
    package func tryLock() throws(SystemError) -> Bool {
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
        guard errno == EWOULDBLOCK else { throw .last("lock", path) }
        return false
    }

    /// Releases the lock of ``tryLock()``, even if a child made by `fork` has the descriptor too.
    package func unlock() {
        _ = flock(descriptor, LOCK_UN)
    }
}

// Locks on single bytes of a file; the bytes need not exist.
//
// Such a lock belongs to an open file description (`F_OFD_SETLK`, `man 2 fcntl`), not to the process as a
// POSIX lock does. Threads that open the file separately have separate locks, and closing another descriptor
// releases none. A system without such locks reports `EINVAL`.
extension File {
    // F_OFD_SETLK and F_OFD_GETLK.
    #if canImport(Darwin)
    // Darwin's headers declare these constants only for some languages.
    private static let (setLock, getLock): (CInt, CInt) = (90, 92)
    #else
    // Swift doesn't import these constants of <linux/fcntl.h>.
    private static let (setLock, getLock): (CInt, CInt) = (37, 36)
    #endif

    /// Locks a byte until it is unlocked, the file is closed or the process ends.
    ///
    /// - Parameter byte: The byte's offset, less than 2^63.
    /// - Returns: False if another open file holds the lock.
    /// - Throws: The failure of the system call.
    package func tryLock(byte: UInt64) throws(SystemError) -> Bool {
        if control(Self.setLock, F_WRLCK, byte..<byte + 1) != nil { return true }
        guard errno == EAGAIN || errno == EACCES else { throw .last("lock", path) }
        return false
    }

    /// Releases the lock of ``tryLock(byte:)``, even if a child made by `fork` has the descriptor too.
    package func unlock(byte: UInt64) {
        _ = control(Self.setLock, F_UNLCK, byte..<byte + 1)
    }

    /// Returns one of the bytes that other open files have locked.
    ///
    /// - Parameter bytes: The offsets to check, less than 2^63.
    /// - Returns: The byte's offset; nil if none is locked.
    /// - Throws: The failure of the system call.
    package func byteLocked(in bytes: Range<UInt64>) throws(SystemError) -> UInt64? {
        guard !bytes.isEmpty else { return nil }
        guard let lock = control(Self.getLock, F_WRLCK, bytes) else { throw .last("lock", path) }
        guard Int32(lock.l_type) != Int32(F_UNLCK) else { return nil }
        let byte = UInt64(clamping: lock.l_start)
        return min(max(byte, bytes.lowerBound), bytes.upperBound - 1)
    }

    /// Performs a lock command and returns the system's answer; nil if it fails.
    private func control(_ command: CInt, _ kind: some BinaryInteger, _ bytes: Range<UInt64>) -> flock? {
        var lock = flock()
        lock.l_type = Int16(kind)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = off_t(clamping: bytes.lowerBound)
        lock.l_len = off_t(clamping: bytes.upperBound - bytes.lowerBound)
        while fcntl(descriptor, command, &lock) != 0 {
            guard errno == EINTR else { return nil }
        }
        return lock
    }
}

extension File {
    /// Finds the process that holds an exclusive POSIX lock on a byte.
    ///
    /// It may be this process. The process ID is 0 or negative if the process is in another container, or if the
    /// lock belongs to an open file description.
    ///
    /// This takes no lock. `F_GETLK` would ignore this process's locks. `F_OFD_GETLK` asks on behalf of the
    /// open file, which has none (`man 2 fcntl_locking`).
    ///
    /// - Parameter byte: The byte's offset in the file. It may lie beyond the end.
    /// - Returns: The process ID. Nil if no process holds the lock, and on systems other than Linux.
    package func exclusiveLockHolder(at byte: UInt64) -> Int32? {
        #if os(Linux)
        // Only an exclusive lock conflicts with a shared one.
        var lock = flock()
        lock.l_type = Int16(F_RDLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = off_t(byte)
        lock.l_len = 1
        guard fcntl(descriptor, Self.getLock, &lock) == 0, lock.l_type == Int16(F_WRLCK) else {
            return nil
        }
        return lock.l_pid
        #else
        return nil
        #endif
    }
}

// Locks on single bytes of a file; the bytes need not exist.
//
// Such a lock belongs to an open file description (`F_OFD_SETLK`, `man 2 fcntl`), not to the process as a
// POSIX lock does. Threads that open the file separately have separate locks, and closing another descriptor
// releases none. A system without such locks reports `EINVAL`.
extension File {
    #if canImport(Darwin)
    // Darwin's headers declare these constants only for some languages.
    private static let (setLock, getLock): (CInt, CInt) = (90, 92)
    #else
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

// Locks on single bytes of a file, which need not exist.
//
// They belong to what `open` has returned (`F_OFD_SETLK`, `man 2 fcntl`), not to the process as those of POSIX do:
// threads that have opened the file each have their own, and a descriptor that somebody else closes ends none. A
// system that does not know them says `EINVAL`.
extension File {
    #if canImport(Darwin)
    // In its headers for some languages only.
    private static let (setLock, getLock): (CInt, CInt) = (90, 92)
    #else
    private static let (setLock, getLock): (CInt, CInt) = (37, 36)
    #endif

    /// Locks a byte, until it is given back, or the file closed, or the process ends.
    ///
    /// - Parameter byte: Its offset, less than 2^63.
    /// - Returns: False where another has it.
    /// - Throws: The failure of the system call.
    package func tryLock(byte: UInt64) throws(SystemError) -> Bool {
        if control(Self.setLock, F_WRLCK, byte..<byte + 1) != nil { return true }
        guard errno == EAGAIN || errno == EACCES else { throw .last("lock", path) }
        return false
    }

    /// Gives the lock of ``tryLock(byte:)`` back, also where a child made by `fork` has the descriptor too.
    package func unlock(byte: UInt64) {
        _ = control(Self.setLock, F_UNLCK, byte..<byte + 1)
    }

    /// One of the bytes that others have locked.
    ///
    /// - Parameter bytes: Offsets less than 2^63.
    /// - Returns: Nil where they have none.
    /// - Throws: The failure of the system call.
    package func byteLocked(in bytes: Range<UInt64>) throws(SystemError) -> UInt64? {
        guard !bytes.isEmpty else { return nil }
        guard let lock = control(Self.getLock, F_WRLCK, bytes) else { throw .last("lock", path) }
        guard Int32(lock.l_type) != Int32(F_UNLCK) else { return nil }
        let byte = UInt64(clamping: lock.l_start)
        return min(max(byte, bytes.lowerBound), bytes.upperBound - 1)
    }

    /// What the system has made of a request; nil where it fails.
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

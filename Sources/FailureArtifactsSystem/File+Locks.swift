#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

extension File {
    /// Finds the process that holds an exclusive POSIX lock on a byte; it may be this one.
    ///
    /// No lock is taken. `F_GETLK` would pass over the locks of this process; `F_OFD_GETLK` asks in the name of the
    /// open file, which has none (`man 2 fcntl_locking`).
    ///
    /// - Parameter byte: The byte's offset in the file; it may lie beyond the end.
    /// - Returns: The process ID, which is 0 or less if the system does not report it: for a process of another
    ///   container, or a lock that belongs to an open file description. Nil if there is no such lock, and on systems
    ///   other than Linux.
    package func exclusiveLockHolder(at byte: UInt64) -> Int32? {
        #if os(Linux)
        // Only an exclusive lock is in the way of a shared one.
        let getLock: CInt = 36  // F_OFD_GETLK of <linux/fcntl.h>, which Swift does not import
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

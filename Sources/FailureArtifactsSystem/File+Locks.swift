#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

extension File {
    /// Finds the process that holds an exclusive POSIX lock on a byte.
    ///
    /// It may be this process. The process ID is 0 or negative if the process is in another container, or if the lock belongs to an
    /// open file description.
    ///
    /// This takes no lock. `F_GETLK` would ignore this process's locks. `F_OFD_GETLK` asks on behalf of the
    /// open file, which has none (`man 2 fcntl_locking`).
    ///
    /// - Parameter byte: The byte's offset in the file. It may lie beyond the end.
    /// - Returns: The process ID; nil if no process holds the lock or the system can't tell.
    package func exclusiveLockHolder(at byte: UInt64) -> Int32? {
        #if os(Linux)
        // Only an exclusive lock conflicts with a shared one.
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

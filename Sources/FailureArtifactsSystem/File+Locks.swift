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

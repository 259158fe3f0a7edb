/// A hold on a file that outlives its name, and can neither read it nor drop a lock.
///
/// On Linux it is a descriptor opened with `O_PATH`: while it exists, the file's content does, even if it is
/// deleted, and to close it leaves the process's POSIX locks on the file alone, as closing no other
/// descriptor does (`man 2 open`; `filp_close` in the kernel's `fs/open.c`). Apple's systems have nothing of
/// the kind.
package final class FileReference: Sendable {
    private let descriptor: CInt
    /// The path the file had.
    package let path: String
    package let identity: FileStatus.Identity

    /// Takes hold of the file at `path`; nil where there is none, or the system knows no such thing.
    package init?(to path: String) {
        #if os(Linux)
        // The C library's headers have O_PATH behind _GNU_SOURCE. Of Linux's architectures only Alpha, PA-RISC
        // and SPARC have another value.
        let pathOnly: CInt = 0o10000000
        let descriptor = open(path, pathOnly | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        var information = stat()
        guard fstat(descriptor, &information) == 0 else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        self.path = path
        identity = FileStatus(information).identity
        #else
        return nil
        #endif
    }

    deinit { close(descriptor) }

    /// A path that names the file as long as this reference exists, whatever has become of its name.
    package var lastingPath: String { "/proc/self/fd/\(descriptor)" }
}

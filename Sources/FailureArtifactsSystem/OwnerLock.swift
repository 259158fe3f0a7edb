/// The lock of a file or directory, by which its owner shows other containers that it lives.
///
/// It lasts until the last reference is gone or the process dies. A child made by `fork` holds it, too.
package final class OwnerLock: Sendable {
    private let file: File

    /// Takes the lock; nil if another process holds it, or if the volume has no locks.
    package init?(of path: String) {
        guard let file = try? File(reading: path), (try? file.tryLock()) == true else { return nil }
        self.file = file
    }
}

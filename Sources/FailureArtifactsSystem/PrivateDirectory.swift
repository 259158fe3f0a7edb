/// A directory for data that only this process may see, which is removed when this value goes out of scope.
///
/// Its name contains the process's identity, so that the directories of dead processes can be removed.
package struct PrivateDirectory: ~Copyable {
    package let path: String
    private let lock: OwnerLock?

    private static let prefix = "failure-artifacts-private-"

    private init(path: String) {
        self.path = path
        lock = OwnerLock(of: path)
    }

    /// Creates a private directory, and removes those of dead processes.
    package static func create(
        in parent: String = FileSystem.temporaryDirectory
    ) throws(SystemError) -> PrivateDirectory {
        removeLeftovers(in: parent)
        let path = try FileSystem.createUniqueDirectory(
            in: parent, prefix: "\(prefix)\(ProcessIdentity.current.text)-")
        return PrivateDirectory(path: path)
    }

    deinit {
        try? FileSystem.remove(path)
    }

    private static func removeLeftovers(in parent: String) {
        for name in (try? FileSystem.contents(ofDirectory: parent)) ?? [] where name.hasPrefix(prefix) {
            let parts = name.dropFirst(prefix.count).split(separator: "-")
            let path = Path.join(parent, name)
            guard parts.count == 3, let process = ProcessIdentity(parts[0], parts[1]),
                process.hasDied(leaving: path)
            else { continue }
            // Another user's directory can't be removed.
            try? FileSystem.remove(path)
        }
    }
}

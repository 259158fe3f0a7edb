/// A directory for data that only this process may see, which is removed when this value goes out of scope.
///
/// Its name contains the process's identity, so that the directories of dead processes can be removed.
package struct PrivateDirectory: ~Copyable {
    package let path: String

    private static let prefix = "failure-artifacts-private-"

    private init(path: String) {
        self.path = path
    }

    /// Creates a private directory, and removes those of dead processes.
    package static func create(
        in parent: String = FileSystem.temporaryDirectory
    ) throws(SystemError) -> PrivateDirectory {
        removeLeftovers(in: parent)
        let me = ProcessIdentity.current
        let path = try FileSystem.createUniqueDirectory(
            in: parent, prefix: "\(prefix)\(me.number)-\(me.start)-")
        return PrivateDirectory(path: path)
    }

    deinit {
        try? FileSystem.remove(path)
    }

    private static func removeLeftovers(in parent: String) {
        for name in (try? FileSystem.contents(ofDirectory: parent)) ?? [] where name.hasPrefix(prefix) {
            let parts = name.dropFirst(prefix.count).split(separator: "-")
            guard parts.count == 3, let number = Int32(parts[0]), let start = UInt64(parts[1]),
                !ProcessIdentity(number: number, start: start).isAlive
            else { continue }
            // Another user's directory can't be removed.
            try? FileSystem.remove(Path.join(parent, name))
        }
    }
}

/// A directory for data that only this process may see.
///
/// It is outside the artifacts directory and is removed when this value goes out of scope.
///
/// The name contains the process's identity. The next one to be created removes the directories of dead
/// processes.
package struct PrivateDirectory: ~Copyable {
    package let path: String

    private static let prefix = "failure-artifacts-private-"

    /// Creates a private directory in the temporary directory.
    ///
    /// - Throws: The failure of `mkdtemp`.
    package init() throws(SystemError) {
        try self.init(in: FileSystem.temporaryDirectory)
    }

    /// Creates a private directory in an existing directory.
    package init(in parent: String) throws(SystemError) {
        Self.removeLeftovers(in: parent)
        let me = ProcessIdentity.current
        path = try FileSystem.createUniqueDirectory(
            in: parent, prefix: "\(Self.prefix)\(me.number)-\(me.start)-")
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

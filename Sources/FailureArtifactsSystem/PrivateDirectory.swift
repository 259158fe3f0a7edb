/// A directory for what nobody else may see, outside of all that is kept; it is removed when it goes out of
/// scope.
///
/// Its name says whose it is: what a process has left that died over it is removed when the next one is made.
package struct PrivateDirectory: ~Copyable {
    package let path: String

    private static let prefix = "failure-artifacts-private-"

    /// Creates one in the temporary directory.
    ///
    /// - Throws: The failure of `mkdtemp`.
    package init() throws(SystemError) {
        try self.init(in: FileSystem.temporaryDirectory)
    }

    /// Creates one in an existing directory.
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
            // Somebody else's cannot be removed.
            try? FileSystem.remove(Path.join(parent, name))
        }
    }
}

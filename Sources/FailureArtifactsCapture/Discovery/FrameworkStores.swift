internal import FailureArtifactsSystem

/// The databases that frameworks keep for themselves in a test's process, such as the cache of `URLSession`.
///
/// They are listed in a bundle without their content. A store that belongs to a test is never one of them: one that a
/// test opened, used or registered, and one that an adapter knows.
struct FrameworkStores: Sendable {
    /// The directories in which tests and their app keep stores; nil if stores elsewhere count as theirs, too.
    private let areas: [[Substring]]?

    /// Creates the rules of a process.
    ///
    /// - `areas`: the directories in which tests and their app keep stores, as absolute paths. With nil, only
    ///   databases with known paths are left out, wherever they are. The root directory is ignored.
    init(areas: [String]?) {
        self.areas = areas?.map { Self.components(of: $0) }.filter { !$0.isEmpty }
    }

    /// The rules of this process.
    ///
    /// Where SQLite reports each connection, it is known whether a test opened a store, and stores elsewhere are
    /// captured. The system's SQLite on Apple platforms doesn't report connections.
    static var current: FrameworkStores {
        #if canImport(Darwin)
        let variables = ProcessEnvironment.variables
        return FrameworkStores(
            areas: ["HOME", "CFFIXED_USER_HOME", "TMPDIR"].compactMap { variables[$0] }
                + ["/tmp", "/var/tmp", Path.currentDirectory])
        #else
        return FrameworkStores(areas: nil)
        #endif
    }

    /// True if the decision depends on the files that were open before the first test.
    var needsFilesOpenAtStart: Bool { areas != nil }

    /// Returns the reason why a store is left out.
    ///
    /// Nil if the store is captured.
    ///
    /// - `path`: the store's file, absolute; nil for a store without a file.
    /// - `isOfTest`: true if a test opened, used or registered the store, or an adapter knows it.
    /// - `wasOpenAtStart`: true if the file was open before the first test of the process started.
    func reasonToLeaveOut(
        _ path: String?, isOfTest: Bool, wasOpenAtStart: Bool
    ) -> String? {
        guard let path, !isOfTest else { return nil }
        if let known = Self.known.first(where: { fnmatch($0.0, path, 0) == 0 }) { return known.1 }
        let components = Self.components(of: path)
        guard let areas, wasOpenAtStart, !Self.isOfApp(components),
            !areas.contains(where: { components.starts(with: $0) })
        else { return nil }
        return
            "It was open before the first test, outside of the directories of the tests and their app."
    }

    /// Returns the parts of an absolute path, without the `/private` that macOS adds to `/tmp` and `/var`.
    private static func components(of path: String) -> [Substring] {
        let components = path.split(separator: "/")
        guard components.count > 1, components[0] == "private", ["tmp", "var"].contains(components[1])
        else { return components }
        return Array(components.dropFirst())
    }

    /// Returns true if a file is in a bundle of code, or in a container that apps share.
    private static func isOfApp(_ components: [Substring]) -> Bool {
        components.dropLast().contains { name in
            ["AppGroup", "Group Containers"].contains(name)
                || [".app", ".xctest", ".bundle"].contains(where: name.hasSuffix)
        }
    }

    /// The paths of frameworks' databases, as patterns for `fnmatch`, in which `*` also stands for slashes.
    private static let known = [
        ("*/Library/Caches/*/Cache.db", "It is the cache of URLSession."),
        ("*/Library/HTTPStorages/*/httpstorages.sqlite", "It holds URLSession's data about servers."),
        ("*/Library/Caches/com.apple.*", "It is a cache of the system."),
        ("*/Library/WebKit/*", "It belongs to WebKit."),
        ("*/Library/Application Support/Google/Measurement/*", "It belongs to Google Analytics."),
        ("/System/Library/*", "It belongs to the system."),
        ("/private/var/db/*", "It belongs to the system."),
        ("*/pki/nssdb/cert9.db", nss), ("*/pki/nssdb/key4.db", nss),
        ("*/.pki/nssdb/cert9.db", nss), ("*/.pki/nssdb/key4.db", nss),
        ("/var/lib/rpm/rpmdb.sqlite", rpm), ("/usr/lib/sysimage/rpm/rpmdb.sqlite", rpm),
    ]
    private static let nss = "It has the certificates and keys of the library NSS."
    private static let rpm = "It is the list of the packages that RPM has installed."
}

internal import FailureArtifactsSystem

/// The databases that frameworks keep for themselves in a test's process, such as the cache of `URLSession`.
///
/// They are listed in a bundle without their content. A store that belongs to a test is never one of them: one that a
/// test opened, used or registered, and one that an adapter knows.
enum FrameworkStores {
    /// Returns the reason why the database at a path is left out; nil for a store that is captured.
    static func reasonToLeaveOut(_ path: String) -> String? {
        known.first { fnmatch($0.0, path, 0) == 0 }?.1
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

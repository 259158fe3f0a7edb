internal import FailureArtifactsSystem

/// The commit that a process was built from, as far as files and variables tell.
package enum CheckedOutCommit {
    /// Returns the commit that is checked out around a directory; nil if unknown, and for a relative path, as of a working
    /// directory that is gone.
    ///
    /// Source: <https://git-scm.com/docs/gitrepository-layout>.
    package static func current(in directory: String) -> String? {
        var place = directory
        while place.hasPrefix("/"), place != "/" {
            let path = Path.join(place, ".git")
            if let status = try? FileSystem.status(of: path) {
                guard status.kind == .regular else { return head(of: path) }
                // A work tree beside its repository.
                return text(of: path)?.dropping("gitdir: ").flatMap { head(of: Path.join(place, $0)) }
            }
            place = Path.directory(of: place)
        }
        return nil
    }

    private static func head(of repository: String) -> String? {
        guard let head = text(of: Path.join(repository, "HEAD")) else { return nil }
        guard let name = head.dropping("ref: ") else { return hash(head) }
        // A work tree shares the branches of its repository.
        let common = text(of: Path.join(repository, "commondir")).map { Path.join(repository, $0) }
        for directory in [repository, common].compactMap(\.self) {
            if let hash = text(of: Path.join(directory, name)).flatMap(hash) { return hash }
            let packed = text(of: Path.join(directory, "packed-refs"))?.split(separator: "\n") ?? []
            if let line = packed.first(where: { $0.hasSuffix(" " + name) }) {
                return hash(String(line.prefix { $0 != " " }))
            }
        }
        return nil
    }

    private static func hash(_ text: String) -> String? {
        text.count >= 40 && text.allSatisfy(\.isHexDigit) ? text : nil
    }

    private static func text(of path: String) -> String? {
        guard let bytes = try? FileSystem.contents(ofFile: path, limit: 4 << 20) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }
}

extension String {
    fileprivate func dropping(_ prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }
}

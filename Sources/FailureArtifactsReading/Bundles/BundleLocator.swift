internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// Finds the bundles at a path: one bundle, a directory of bundles, or a zip of bundles.
package enum BundleLocator {
    /// A zip that is, or should be, a bundle.
    package struct FoundBundle: Equatable, Sendable {
        package let location: BundleLocation
        /// The reason why the zip is not a bundle; nil if it is one.
        package let problem: BundleError?
    }

    /// The maximum depth of a directory search; bundles are at most in one folder per shard.
    private static let depthLimit = 8

    /// Finds all bundles at `path`, and all zips that should be bundles, sorted by path.
    ///
    /// Directories are searched recursively, except hidden ones. A zip in a directory may be a bundle or a zip of
    /// bundles. The zips in a zip of bundles have to be bundles. A single file that is not a bundle is an error
    /// instead.
    package static func found(at path: String) throws(BundleError) -> [FoundBundle] {
        guard let status = try status(of: path) else {
            // They may turn out to be something else.
            return try resolve(path).map { FoundBundle(location: $0, problem: nil) }
        }
        guard status.kind == .directory else { return try found(inFile: path) }
        let files = try files(in: path)
        guard !files.isEmpty else { throw BundleError(path, .noBundles) }
        var found: [FoundBundle] = []
        for file in files {
            do {
                found += try Self.found(inFile: file)
            } catch {
                found.append(FoundBundle(location: BundleLocation(path: file), problem: error))
            }
        }
        return found
    }

    private static func found(inFile path: String) throws(BundleError) -> [FoundBundle] {
        try BundleLocation.all(inFile: path).map { FoundBundle(location: $0, problem: nil) }
    }

    /// Finds all bundles that `path` stands for.
    ///
    /// - `path`: a path as in ``found(at:)``. The last name may be abbreviated to a part that the bundles'
    ///   names contain.
    package static func bundles(at path: String) throws(BundleError) -> [BundleLocation] {
        let found = try found(at: path)
        if found.count == 1, let problem = found[0].problem { throw problem }
        let bundles = found.filter { $0.problem == nil }.map(\.location)
        guard !bundles.isEmpty else { throw BundleError(path, .noBundles) }
        return bundles
    }

    /// Finds the one bundle at `path`.
    ///
    /// If several bundles are found, but only one of them is of a failure, it is that one. The file names tell the
    /// outcomes.
    package static func single(at path: String) throws(BundleError) -> BundleLocation {
        let bundles = try bundles(at: path)
        if bundles.count == 1 { return bundles[0] }
        let failures = bundles.filter { !BundleName.isOfPassingTest($0.name) }
        guard failures.count == 1 else {
            throw BundleError(path, .ambiguous(bundles.map(\.description)))
        }
        return failures[0]
    }

    /// Returns the paths of the `.zip` files in a directory and its subdirectories.
    private static func files(in directory: String) throws(BundleError) -> [String] {
        var files: [String] = []
        var visited: Set<FileStatus.Identity> = []
        try collect(from: directory, depth: 0, visited: &visited, into: &files)
        return files
    }

    private static func collect(
        from directory: String, depth: Int, visited: inout Set<FileStatus.Identity>,
        into files: inout [String]
    ) throws(BundleError) {
        guard depth < depthLimit, let status = try status(of: directory),
            visited.insert(status.identity).inserted
        else { return }
        let names: [String]
        do {
            names = try FileSystem.contents(ofDirectory: directory)
        } catch {
            throw BundleError(directory, .system(error))
        }
        for name in names where !name.hasPrefix(".") {
            let path = Path.join(directory, name)
            // Skip a file that was removed in the meantime.
            guard let status = try Self.status(of: path) else { continue }
            if status.kind == .directory {
                try collect(from: path, depth: depth + 1, visited: &visited, into: &files)
            } else if isZipName(name) {
                files.append(path)
            }
        }
    }

    /// Resolves a path that doesn't exist: an entry of a zip, or a part of a name.
    private static func resolve(_ path: String) throws(BundleError) -> [BundleLocation] {
        var outer = Path.directory(of: path)
        while outer != ".", outer != "/", try status(of: outer) == nil {
            outer = Path.directory(of: outer)
        }
        guard path.hasPrefix(outer + "/"), let status = try status(of: outer) else {
            throw BundleError(path, .notFound)
        }
        let name = String(path.dropFirst(outer.count + 1))
        let candidates: [BundleLocation]
        if status.kind == .directory {
            candidates = try files(in: outer).map { BundleLocation(path: $0) }
        } else {
            candidates = try BundleLocation.all(inFile: outer).filter { $0.inner != nil }
        }
        guard !candidates.isEmpty else { throw BundleError(path, .notFound) }
        return try matches(of: name, in: outer, candidates, path: path)
    }

    /// The minimum length of a part of a name, in characters; a shorter text is more likely a typing error than an
    /// abbreviation.
    static let leastPart = 4

    /// Returns the candidates with that name; otherwise, those whose name contains it.
    private static func matches(
        of name: String, in container: String, _ candidates: [BundleLocation], path: String
    ) throws(BundleError) -> [BundleLocation] {
        if let exact = candidates.first(where: { $0.inner == name }) { return [exact] }
        // A path with a slash or an extension names a missing file rather than a part of a name.
        let noMatch = BundleError(
            path, name.contains("/") || isZipName(name) ? .notFound : .noMatch(name, in: container))
        guard name.count >= leastPart else { throw noMatch }
        let named = candidates.filter { $0.name == name }
        let found = named.isEmpty ? candidates.filter { $0.name.contains(name) } : named
        guard !found.isEmpty else { throw noMatch }
        return found
    }

    private static func status(of path: String) throws(BundleError) -> FileStatus? {
        do {
            return try FileSystem.status(of: path)
        } catch {
            throw BundleError(path, .system(error))
        }
    }

    package static func isZipName(_ name: String) -> Bool {
        name.utf8.suffix(4).elementsEqual(".zip".utf8) || name.utf8.suffix(4).elementsEqual(".ZIP".utf8)
    }

    /// True for files that the system creates for itself: `.in-flight/x.zip`, or `__MACOSX/._x.zip`.
    static func isHidden(_ name: String) -> Bool {
        name.split(separator: "/").contains { $0.hasPrefix(".") || $0 == "__MACOSX" }
    }
}

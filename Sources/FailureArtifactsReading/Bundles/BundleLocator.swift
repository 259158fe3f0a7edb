internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// Finds the bundles at a path: one bundle, a directory of bundles, or a zip of bundles.
package enum BundleLocator {
    /// A zip that is, or should be, a bundle.
    package struct Finding: Equatable, Sendable {
        package let location: BundleLocation
        /// The reason why the zip is not a bundle; nil if it is one.
        package let problem: BundleError?
    }

    /// The maximum depth of a directory search.
    ///
    /// Bundles are at most in one folder per shard.
    private static let depthLimit = 8

    /// Finds all bundles at `path`, and all zips that should be bundles, sorted by path.
    ///
    /// Directories are searched recursively, except hidden ones. A zip in a directory may be a bundle or a
    /// zip of bundles. The zips in a zip of bundles have to be bundles.
    ///
    /// - Parameter path: A bundle, a directory, a zip of bundles, or `OUTER.zip/INNER.zip`.
    /// - Returns: At least one finding. A single file that is not a bundle is an error instead.
    /// - Throws: An error if `path` doesn't exist or has no bundles.
    package static func findings(at path: String) throws(BundleError) -> [Finding] {
        switch try candidates(at: path) {
        case .bundle(let location): return [Finding(location: location, problem: nil)]
        case .file: return try findings(inFile: path)
        case .files(let files):
            var findings: [Finding] = []
            for file in files {
                do {
                    findings += try Self.findings(inFile: file)
                } catch {
                    findings.append(Finding(location: BundleLocation(path: file), problem: error))
                }
            }
            return findings
        }
    }

    /// The possible bundles at a path, before any file is opened.
    package enum Candidates: Equatable, Sendable {
        /// One bundle, by its name. It may turn out to be something else.
        case bundle(BundleLocation)
        /// The path itself, which is a file.
        case file
        /// The zips in a directory, sorted by path. There is at least one.
        case files([String])
    }

    /// Finds the files that may be bundles.
    ///
    /// - Parameter path: A path as in ``findings(at:)``.
    /// - Returns: The files to open.
    /// - Throws: An error if `path` doesn't exist or has no zips.
    package static func candidates(at path: String) throws(BundleError) -> Candidates {
        guard let status = try status(of: path) else {
            return .bundle(try resolve(path, prefersPassing: false))
        }
        guard status.kind == .directory else { return .file }
        var files: [String] = []
        var visited: Set<FileStatus.Identity> = []
        try collect(from: path, depth: 0, visited: &visited, into: &files)
        guard !files.isEmpty else { throw BundleError(path, .noBundles) }
        return .files(files)
    }

    private static func findings(inFile path: String) throws(BundleError) -> [Finding] {
        try BundleSource(path: path).locations.map { Finding(location: $0, problem: nil) }
    }

    /// Finds the one bundle at `path`.
    ///
    /// If several bundles are found, but only one of them has the preferred outcome, it is that one. The file
    /// names tell the outcomes.
    ///
    /// - Parameters:
    ///   - path: A bundle, a directory or zip with exactly one, or `OUTER.zip/INNER.zip`. The last name may be
    ///     abbreviated to a part that no other bundle's name contains.
    ///   - prefersPassing: True to prefer the bundle of a test that passed to those of failures; otherwise, the
    ///     bundle of a failure is preferred.
    /// - Returns: The bundle's location.
    /// - Throws: An error if there are no bundles or several.
    package static func single(
        at path: String, prefersPassing: Bool = false
    ) throws(BundleError) -> BundleLocation {
        guard try status(of: path) != nil else {
            return try resolve(path, prefersPassing: prefersPassing)
        }
        let findings = try findings(at: path)
        let bundles = findings.filter { $0.problem == nil }.map(\.location)
        if let bundle = only(of: bundles, prefersPassing: prefersPassing) { return bundle }
        if findings.count == 1, let problem = findings[0].problem { throw problem }
        guard !bundles.isEmpty else { throw BundleError(path, .noBundles) }
        throw BundleError(path, .ambiguous(bundles.map(\.description)))
    }

    /// Returns the only bundle, or the only one with the preferred outcome; nil if there are several or none.
    private static func only(of bundles: [BundleLocation], prefersPassing: Bool) -> BundleLocation? {
        if bundles.count == 1 { return bundles[0] }
        let preferred = bundles.filter { BundleName.isOfPassingTest($0.name) == prefersPassing }
        return preferred.count == 1 ? preferred[0] : nil
    }

    /// Collects the paths of the `.zip` files in a directory and its subdirectories.
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
    private static func resolve(
        _ path: String, prefersPassing: Bool
    ) throws(BundleError) -> BundleLocation {
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
            var files: [String] = []
            var visited: Set<FileStatus.Identity> = []
            try collect(from: outer, depth: 0, visited: &visited, into: &files)
            candidates = files.map { BundleLocation(path: $0) }
        } else {
            candidates = try BundleSource(path: outer).locations.filter { $0.inner != nil }
        }
        guard !candidates.isEmpty else { throw BundleError(path, .notFound) }
        return try choose(name, in: outer, candidates, path: path, prefersPassing: prefersPassing)
    }

    /// The minimum length of a part of a name, in characters.
    ///
    /// A shorter text is more likely a typing error than an abbreviation.
    static let leastPart = 4

    /// Returns the candidate with that name; otherwise, the only one whose name contains it, or the only one of
    /// those with the preferred outcome.
    private static func choose(
        _ name: String, in container: String, _ candidates: [BundleLocation], path: String,
        prefersPassing: Bool
    ) throws(BundleError) -> BundleLocation {
        if let exact = candidates.first(where: { $0.inner == name }) { return exact }
        // A path with a slash or an extension names a missing file rather than a part of a name.
        let noMatch = BundleError(
            path, name.contains("/") || isZipName(name) ? .notFound : .noMatch(name, in: container))
        guard name.count >= leastPart else { throw noMatch }
        let named = candidates.filter { $0.name == name }
        let found = named.isEmpty ? candidates.filter { $0.name.contains(name) } : named
        if let bundle = only(of: found, prefersPassing: prefersPassing) { return bundle }
        guard !found.isEmpty else { throw noMatch }
        throw BundleError(path, .ambiguous(found.map(\.description)))
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

package import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// Finds the bundles that a path stands for: one bundle, a directory of them, or a zip of them.
package enum BundleLocator {
    /// A zip that is a bundle, or that cannot be one.
    package struct Finding: Equatable, Sendable {
        package let location: BundleLocation
        /// Why it is no bundle; nil where it is one.
        package let problem: BundleError?
    }

    /// How deep directories are searched; bundles are in a folder for each shard at most.
    private static let depthLimit = 8

    /// Everything at `path` that is a bundle or a zip that should be one, sorted by path.
    ///
    /// Directories are searched with the folders in them, except hidden ones. A zip in a directory may be a
    /// zip of bundles too; what is in a zip of bundles must be bundles.
    ///
    /// - Parameter path: A bundle, a directory, a zip of bundles, or `OUTER.zip/INNER.zip`.
    /// - Returns: At least one finding. A single file that is no bundle is an error instead.
    /// - Throws: That there is nothing at `path`, no bundle in it, or that it is something else.
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

    /// What a path stands for, before any file is opened.
    package enum Candidates: Equatable, Sendable {
        /// One bundle, which is named but may be something else.
        case bundle(BundleLocation)
        /// The path is that of a file.
        case file
        /// The zips of a directory, sorted by path; at least one.
        case files([String])
    }

    /// Looks for what may be bundles.
    ///
    /// - Parameter path: As in ``findings(at:)``.
    /// - Returns: What there is to be opened.
    /// - Throws: That there is nothing at `path`, or no zip in it.
    package static func candidates(at path: String) throws(BundleError) -> Candidates {
        guard let status = try status(of: path) else { return .bundle(try resolve(path)) }
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

    /// The one bundle that `path` stands for.
    ///
    /// - Parameter path: A bundle, or a directory or zip with exactly one, or `OUTER.zip/INNER.zip`. In
    ///   place of the last name a part of it does, where no other bundle has that part.
    /// - Returns: Where it is.
    /// - Throws: That there is none, or several.
    package static func single(at path: String) throws(BundleError) -> BundleLocation {
        let findings = try findings(at: path)
        let bundles = findings.filter { $0.problem == nil }.map(\.location)
        if bundles.count == 1 { return bundles[0] }
        if findings.count == 1, let problem = findings[0].problem { throw problem }
        guard !bundles.isEmpty else { throw BundleError(path, .noBundles) }
        throw BundleError(path, .ambiguous(bundles.map(\.description)))
    }

    /// The paths of the `.zip` files in a directory and its folders.
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
            // What has gone since is of no interest any more.
            guard let status = try Self.status(of: path) else { continue }
            if status.kind == .directory {
                try collect(from: path, depth: depth + 1, visited: &visited, into: &files)
            } else if isZipName(name) {
                files.append(path)
            }
        }
    }

    /// A path that names no file: an entry of a zip, or a part of a name.
    private static func resolve(_ path: String) throws(BundleError) -> BundleLocation {
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
            var names: [String] = []
            do {
                names = try FileSystem.contents(ofDirectory: outer)
            } catch {
                throw BundleError(outer, .system(error))
            }
            candidates = names.filter { isZipName($0) && !isHidden($0) }
                .map { BundleLocation(path: Path.join(outer, $0)) }
        } else {
            candidates = try BundleSource(path: outer).locations.filter { $0.inner != nil }
        }
        return try choose(name, among: candidates, path: path)
    }

    /// The candidate of that name, or else the only one whose name has it as a part.
    private static func choose(
        _ name: String, among candidates: [BundleLocation], path: String
    ) throws(BundleError) -> BundleLocation {
        if let exact = candidates.first(where: { $0.inner == name }) { return exact }
        // Shorter parts are rather typing errors than parts.
        guard name.count >= 4 else { throw BundleError(path, .notFound) }
        let named = candidates.filter { $0.name == name }
        let found = named.isEmpty ? candidates.filter { $0.name.contains(name) } : named
        if found.count == 1 { return found[0] }
        guard !found.isEmpty else { throw BundleError(path, .notFound) }
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

    /// Whether the system made it for itself: `.in-flight/x.zip`, or `__MACOSX/._x.zip`.
    static func isHidden(_ name: String) -> Bool {
        name.split(separator: "/").contains { $0.hasPrefix(".") || $0 == "__MACOSX" }
    }
}

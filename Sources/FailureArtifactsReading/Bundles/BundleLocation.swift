internal import FailureArtifactsBundle
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// The location of a bundle: a file, or an entry of a zip of bundles.
package struct BundleLocation: Hashable, Sendable, CustomStringConvertible {
    package let path: String
    /// The name of the bundle's entry in the file; nil if the file itself is the bundle.
    package let inner: String?

    package init(path: String, inner: String? = nil) {
        self.path = path
        self.inner = inner
    }

    /// The path that the command-line tool accepts: `failure-artifacts/A.b-01234567.zip`,
    /// `download.zip/A.b-01234567.zip`.
    package var description: String { inner.map { path + "/" + $0 } ?? path }

    package var name: String { Path.name(of: inner ?? path) }

    /// Opens the bundle's archive; its content is not checked yet.
    ///
    /// - `scratchDirectory`: an existing directory for a copy of a nested zip. The copy exists as long as it is read.
    package func openArchive(
        scratchDirectory: String, limits: ZipLimits = .standard
    ) throws(BundleError) -> ZipArchive {
        try openArchive(in: openFile(limits: limits), scratchDirectory: scratchDirectory)
    }

    /// Opens the file of the location, which other bundles may share.
    package func openFile(limits: ZipLimits) throws(BundleError) -> ZipArchive {
        try reading { () throws(ZipError) in try ZipArchive(path: path, limits: limits) }
    }

    /// As above, in the opened file.
    package func openArchive(
        in file: ZipArchive, scratchDirectory: String
    ) throws(BundleError) -> ZipArchive {
        guard let inner else { return file }
        return try reading { () throws(ZipError) in
            try file.nested(try Self.entry(inner, of: file), scratchDirectory: scratchDirectory)
        }
    }

    /// Runs `body`, and gives its error the bundle's path.
    func reading<Result>(_ body: () throws(ZipError) -> Result) throws(BundleError) -> Result {
        do {
            return try body()
        } catch {
            throw BundleError(description, zip: error)
        }
    }

    func usingFiles<Result>(_ body: () throws(SystemError) -> Result) throws(BundleError) -> Result {
        do {
            return try body()
        } catch {
            throw BundleError(description, .system(error))
        }
    }

    /// Returns the size of the packed bundle in its opened file, in bytes.
    package func size(in file: ZipArchive) throws(BundleError) -> UInt64 {
        guard let inner else {
            return try usingFiles { () throws(SystemError) in
                try FileSystem.status(of: path)?.size ?? 0
            }
        }
        return try reading { () throws(ZipError) in try Self.entry(inner, of: file).size }
    }

    private static func entry(
        _ name: String, of archive: ZipArchive
    ) throws(ZipError) -> ZipEntry {
        if let entry = archive.entry(named: name) { return entry }
        throw ZipError(archive: archive.path, entry: name, reason: .noSuchEntry)
    }

    /// Returns the location of a zip that is a bundle, or those of the bundles in a zip, sorted by name.
    package static func all(
        inFile path: String, limits: ZipLimits = .standard
    ) throws(BundleError) -> [BundleLocation] {
        let location = BundleLocation(path: path)
        let archive = try location.openArchive(scratchDirectory: "", limits: limits)
        if archive.entry(named: BundleMetadata.entryName) != nil { return [location] }
        let inner = archive.entries.filter {
            !$0.isDirectory && BundleLocator.isZipName($0.name) && !BundleLocator.isHidden($0.name)
        }
        guard !inner.isEmpty else { throw BundleError(path, .noMetadata) }
        return inner.map(\.name).sorted().map { BundleLocation(path: path, inner: $0) }
    }

    /// Copies the bundle, byte for byte, to a new file.
    package func copy(toNewFile target: String) throws(BundleError) {
        if let inner {
            return try reading { () throws(ZipError) in
                let outer = try ZipArchive(path: path)
                try outer.extract(Self.entry(inner, of: outer), toNewFile: target)
            }
        }
        do throws(SystemError) {
            try FileSystem.copy(path, toNewFile: target)
        } catch {
            try? FileSystem.remove(target)
            throw BundleError(description, .system(error))
        }
    }
}

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

    /// Opens the bundle's archive. Its content is not checked yet.
    ///
    /// - `scratchDirectory`: an existing directory for a copy of a nested zip. The copy exists as long as it is read.
    package func openArchive(
        scratchDirectory: String, limits: ZipLimits = .standard
    ) throws(BundleError) -> ZipArchive {
        do throws(ZipError) {
            let outer = try ZipArchive(path: path, limits: limits)
            guard let inner else { return outer }
            return try outer.nested(try Self.entry(inner, of: outer), scratchDirectory: scratchDirectory)
        } catch {
            throw BundleError(description, zip: error)
        }
    }

    /// The size of the packed bundle, in bytes.
    package func size() throws(BundleError) -> UInt64 {
        guard let inner else {
            do {
                return try FileSystem.status(of: path)?.size ?? 0
            } catch {
                throw BundleError(description, .system(error))
            }
        }
        do throws(ZipError) {
            let outer = try ZipArchive(path: path)
            return try Self.entry(inner, of: outer).size
        } catch {
            throw BundleError(description, zip: error)
        }
    }

    static func entry(
        _ name: String, of archive: ZipArchive
    ) throws(ZipError) -> ZipEntry {
        if let entry = archive.entry(named: name) { return entry }
        throw ZipError(archive: archive.path, entry: name, reason: .noSuchEntry)
    }
}

/// An open zip that is a bundle or contains bundles.
package struct BundleSource: Sendable {
    private let archive: ZipArchive
    /// The location of the bundle, or those of the contained bundles, sorted by name. It is never empty.
    package let locations: [BundleLocation]

    package init(path: String, limits: ZipLimits = .standard) throws(BundleError) {
        let location = BundleLocation(path: path)
        archive = try location.openArchive(scratchDirectory: "", limits: limits)
        if archive.entry(named: BundleMetadata.entryName) != nil {
            locations = [location]
            return
        }
        let inner = archive.entries.filter {
            !$0.isDirectory && BundleLocator.isZipName($0.name) && !BundleLocator.isHidden($0.name)
        }
        guard !inner.isEmpty else { throw BundleError(path, .noMetadata) }
        locations = inner.map(\.name).sorted().map { BundleLocation(path: path, inner: $0) }
    }

    /// Opens one of the bundles; see ``BundleLocation/openArchive(scratchDirectory:limits:)``.
    ///
    /// - Parameters: - location: One of ``locations``. - scratchDirectory: An existing directory for a copy of a
    ///   nested zip.
    /// - Returns: The archive. Its content is not checked yet.
    /// - Throws: An error if reading fails.
    package func open(
        _ location: BundleLocation, scratchDirectory: String
    ) throws(BundleError) -> ZipArchive {
        guard let inner = location.inner else { return archive }
        do throws(ZipError) {
            return try archive.nested(
                BundleLocation.entry(inner, of: archive), scratchDirectory: scratchDirectory)
        } catch {
            throw BundleError(location.description, zip: error)
        }
    }

    /// Returns the size of one of the packed bundles, in bytes.
    package func size(of location: BundleLocation) throws(BundleError) -> UInt64 {
        if let inner = location.inner, let entry = archive.entry(named: inner) { return entry.size }
        return try location.size()
    }

    /// Copies one of the bundles, byte for byte, to a new file.
    ///
    /// - `path`: the path of the new file, which must not exist. The file is removed if copying fails.
    package func copy(_ location: BundleLocation, toNewFile path: String) throws(BundleError) {
        guard let inner = location.inner else {
            do throws(SystemError) {
                // Don't borrow another thread's descriptor, because that thread may close it at any time.
                try FileSystem.copy(File(reading: location.path), toNewFile: path)
            } catch {
                try? FileSystem.remove(path)
                throw BundleError(location.description, .system(error))
            }
            return
        }
        do throws(ZipError) {
            try archive.extract(BundleLocation.entry(inner, of: archive), toNewFile: path)
        } catch {
            throw BundleError(location.description, zip: error)
        }
    }
}

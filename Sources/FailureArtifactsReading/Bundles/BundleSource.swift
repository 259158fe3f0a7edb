package import FailureArtifactsBundle
internal import FailureArtifactsSystem
package import FailureArtifactsZip

/// A zip, open, that is a bundle or holds bundles.
package struct BundleSource: Sendable {
    private let archive: ZipArchive
    /// The bundle that it is, or those in it by their names; never empty.
    package let locations: [BundleLocation]

    /// Opens a zip.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - limits: How much content is read.
    /// - Throws: That it cannot be opened, is no zip, or has no bundle in it.
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

    /// The archive of one of its bundles, as ``BundleLocation/openArchive(scratchDirectory:)`` opens it.
    ///
    /// - Parameters:
    ///   - location: One of ``locations``.
    ///   - scratchDirectory: An existing directory for a copy of an inner zip.
    /// - Returns: The archive; what is in it is not looked at yet.
    /// - Throws: A failure to read it.
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

    /// The size in bytes of one of its bundles, packed as it is.
    package func size(of location: BundleLocation) throws(BundleError) -> UInt64 {
        if let inner = location.inner, let entry = archive.entry(named: inner) { return entry.size }
        return try location.size()
    }

    /// Copies one of its bundles, byte for byte, to a new file.
    ///
    /// - Parameters:
    ///   - location: One of ``locations``.
    ///   - path: A file that does not exist; nothing is left of it where this fails.
    /// - Throws: A failure to read or write.
    package func copy(_ location: BundleLocation, toNewFile path: String) throws(BundleError) {
        guard let inner = location.inner else {
            do throws(SystemError) {
                // Not by a descriptor that another thread has: that may close it at any time.
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

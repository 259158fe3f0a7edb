package import FailureArtifactsBundle
internal import FailureArtifactsSystem
package import FailureArtifactsZip

/// Where a bundle is: a file, or an entry of a zip of bundles.
package struct BundleLocation: Hashable, Sendable, CustomStringConvertible {
    /// The file.
    package let path: String
    /// The entry of the file that is the bundle; nil where the file is the bundle itself.
    package let inner: String?

    package init(path: String, inner: String? = nil) {
        self.path = path
        self.inner = inner
    }

    /// A path that the tool takes: `failure-artifacts/A.b-01234567.zip`, `download.zip/A.b-01234567.zip`.
    package var description: String { inner.map { path + "/" + $0 } ?? path }

    /// The bundle's file name.
    package var name: String { Path.name(of: inner ?? path) }

    /// Opens the bundle's archive.
    ///
    /// - Parameters:
    ///   - scratchDirectory: An existing directory that holds a copy of an inner zip for as long as it is read.
    ///   - limits: How much content is read.
    /// - Returns: The archive; what is in it is not looked at yet.
    /// - Throws: That it is not there or no zip, or a failure to read it.
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

    /// The bundle's size in bytes, packed as it is.
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

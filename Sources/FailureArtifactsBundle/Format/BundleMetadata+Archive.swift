internal import FailureArtifactsSystem
package import FailureArtifactsZip

extension BundleMetadata {
    /// The name of the entry that describes a bundle.
    package static let entryName = "metadata.json"
    /// The largest description that is read, in bytes.
    package static let sizeLimit = 16 << 20

    /// Reads the metadata of a bundle.
    ///
    /// - Parameters:
    ///   - archive: The bundle, open.
    ///   - bundle: What the bundle is called in errors.
    /// - Throws: That there is none, or what is wrong with it.
    package init(in archive: ZipArchive, of bundle: String) throws(BundleError) {
        guard let entry = archive.entry(named: Self.entryName) else {
            throw BundleError(bundle, .noMetadata)
        }
        let json: [UInt8]
        do {
            json = try archive.contents(of: entry, limit: Self.sizeLimit)
        } catch {
            throw BundleError(bundle, zip: error)
        }
        try self.init(json: json, of: bundle)
    }

    /// Reads the metadata of a bundle that is a file.
    ///
    /// - Parameter path: Of the file.
    /// - Throws: That it cannot be opened, is no bundle, or what is wrong with it.
    package init(ofBundle path: String) throws(BundleError) {
        let archive: ZipArchive
        do {
            archive = try ZipArchive(path: path)
        } catch {
            throw BundleError(path, zip: error)
        }
        try self.init(in: archive, of: path)
    }
}

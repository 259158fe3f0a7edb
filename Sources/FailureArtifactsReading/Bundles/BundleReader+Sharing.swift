package import FailureArtifactsBundle
internal import FailureArtifactsSystem
package import FailureArtifactsZip

// Entries whose content is in the bundle itself, or in another bundle beside it.
extension BundleReader {
    /// The content of an entry.
    package struct EntryContent: Sendable {
        /// The bundle that holds the content.
        package let location: BundleLocation
        package let archive: ZipArchive
        package let entry: ZipEntry
    }

    /// Finds the content of an entry.
    ///
    /// - Parameters:
    ///   - name: The entry's name in the metadata.
    ///   - scratchDirectory: An existing directory, used if the content is in a bundle inside another zip.
    /// - Returns: The location of the content, which is not checked yet.
    /// - Throws: An error if there is no such entry, or if the bundle with the content is missing.
    package func content(
        ofEntry name: String, scratchDirectory: String
    ) throws(BundleError) -> EntryContent {
        if let entry = archive.entry(named: name) {
            return EntryContent(location: location, archive: archive, entry: entry)
        }
        guard let reference = metadata.sharedEntry(named: name) else {
            throw BundleError(location.description, .missingEntry(name))
        }
        func problem(_ clause: String) -> BundleError {
            BundleError(location.description, .sharedEntry(name, bundle: reference.bundle, clause))
        }
        guard reference.namesAFile else { throw problem("that is no name of a file") }
        let other = location.sibling(named: reference.bundle)
        let holder: ZipArchive
        do {
            holder = try siblings.archive(of: other) { () throws(BundleError) in
                try other.openArchive(scratchDirectory: scratchDirectory, limits: archive.limits)
            }
        } catch {
            switch error.reason {
            case .notFound: throw problem("there is no such file")
            case .archive(let cause) where cause.reason == .noSuchEntry:
                throw problem("there is no such file")
            default: throw error
            }
        }
        guard let entry = holder.entry(named: reference.bundleEntry), entry.size == reference.bytes,
            BundleMetadata.SharedEntry.text(entry.crc32) == reference.crc32
        else {
            throw problem("the one of that name has no such '\(reference.bundleEntry)'")
        }
        return EntryContent(location: other, archive: holder, entry: entry)
    }

    /// Checks that all content together is within the limits, including content in other bundles.
    package func checkTotalSize() throws(ZipError) {
        let elsewhere = (metadata.sharedEntries ?? []).reduce(UInt64(0)) { sum, shared in
            sum.addingReportingOverflow(shared.bytes).overflow ? .max : sum + shared.bytes
        }
        try archive.checkTotalSize(and: elsewhere)
    }

    /// Returns the size of an entry's uncompressed content, in bytes; nil if the bundle doesn't record it.
    package func size(ofEntry name: String) -> UInt64? {
        archive.entry(named: name)?.size ?? metadata.sharedEntry(named: name)?.bytes
    }
}

/// A cache of the open bundles that a bundle refers to.
final class SiblingArchives: Sendable {
    /// The maximum number of archives that stay open.
    private static let limit = 8

    private let opened = Lock<[(location: BundleLocation, archive: ZipArchive)]>([])

    func archive(
        of location: BundleLocation, open: () throws(BundleError) -> ZipArchive
    ) throws(BundleError) -> ZipArchive {
        if let known = opened.withLock({ $0.first { $0.location == location } }) { return known.archive }
        let archive = try open()
        opened.withLock { opened in
            if opened.count >= Self.limit { opened.removeFirst() }
            opened.append((location, archive))
        }
        return archive
    }
}

extension BundleLocation {
    /// Returns the location of the bundle with that name beside this one, in the same directory or zip.
    package func sibling(named name: String) -> BundleLocation {
        guard let inner else {
            return BundleLocation(path: Path.join(Path.directory(of: path), name))
        }
        let folder = inner.lastIndex(of: "/").map { inner[...$0] } ?? ""
        return BundleLocation(path: path, inner: folder + name)
    }
}

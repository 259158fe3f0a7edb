package import FailureArtifactsBundle
internal import FailureArtifactsSystem
package import FailureArtifactsZip

// Where the content of entries is: in the bundle itself, or in another one that lies beside it.
extension BundleReader {
    /// The content of an entry.
    package struct EntryContent: Sendable {
        /// The bundle that has it.
        package let location: BundleLocation
        package let archive: ZipArchive
        package let entry: ZipEntry
    }

    /// Finds the content of an entry.
    ///
    /// - Parameters:
    ///   - name: The entry's name, as the metadata gives it.
    ///   - scratchDirectory: An existing directory, used where another bundle inside another zip has it.
    /// - Returns: Where it is; what it holds is not looked at yet.
    /// - Throws: That there is no such entry, or that the bundle is missing that should have it.
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

    /// Makes sure that all content together is within the limits, also that which other bundles hold.
    package func checkTotalSize() throws(ZipError) {
        let elsewhere = (metadata.sharedEntries ?? []).reduce(UInt64(0)) { sum, shared in
            sum.addingReportingOverflow(shared.bytes).overflow ? .max : sum + shared.bytes
        }
        try archive.checkTotalSize(and: elsewhere)
    }

    /// The size of an entry's content, not compressed; nil where the bundle does not say.
    package func size(ofEntry name: String) -> UInt64? {
        archive.entry(named: name)?.size ?? metadata.sharedEntry(named: name)?.bytes
    }
}

/// The other bundles that a bundle refers to, each of which is opened once.
final class SiblingArchives: Sendable {
    /// More are not held open.
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
    /// Where a bundle of that name is that lies beside this one: in the same directory, or the same zip.
    package func sibling(named name: String) -> BundleLocation {
        guard let inner else {
            return BundleLocation(path: Path.join(Path.directory(of: path), name))
        }
        let folder = inner.lastIndex(of: "/").map { inner[...$0] } ?? ""
        return BundleLocation(path: path, inner: folder + name)
    }
}

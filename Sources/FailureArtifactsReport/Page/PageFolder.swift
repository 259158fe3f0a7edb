internal import FailureArtifactsReading
internal import FailureArtifactsSystem

/// The directory of the page.
///
/// The page uses relative paths for bundles in its directory or below. The page and the bundles are downloaded from a
/// CI together, so its commands work in both places.
package struct PageFolder: Sendable {
    /// An absolute path; nil if the page is not a file.
    private let path: String?

    /// Creates the directory of a page.
    package init(ofPage page: String?) {
        path = page.map { Path.directory(of: Path.absolute($0)) }
    }

    /// Returns the location of a bundle for use on the page.
    func location(of location: BundleLocation) -> BundleLocation {
        guard let path = relative(location) else { return location }
        return BundleLocation(path: path, inner: location.inner)
    }

    /// True if the page uses a relative path for a bundle.
    func holds(_ location: BundleLocation) -> Bool { relative(location) != nil }

    private func relative(_ location: BundleLocation) -> String? {
        guard let path else { return nil }
        let absolute = Path.absolute(location.path)
        let relative = Path.relative(absolute, to: path)
        return relative == absolute ? nil : relative
    }
}

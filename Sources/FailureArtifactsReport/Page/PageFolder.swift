internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

/// Where the page lies.
///
/// What is in the same directory, or below it, is named from there: the page and the bundles go from a CI to whoever
/// downloads them together, and its commands are of use in both places.
package struct PageFolder: Sendable {
    /// Absolute; nil where the page has no place.
    private let path: String?

    /// - Parameter page: The page's path; nil where it goes to standard output.
    package init(ofPage page: String?) {
        path = page.map { Path.directory(of: Path.absolute($0)) }
    }

    /// How the page names a bundle.
    ///
    /// - Parameter location: Where the bundle is, as it was found.
    /// - Returns: The same where the bundle is elsewhere.
    func location(of location: BundleLocation) -> BundleLocation {
        guard let path = relative(location) else { return location }
        return BundleLocation(path: path, inner: location.inner)
    }

    /// Whether the page names a bundle from its own directory.
    func holds(_ location: BundleLocation) -> Bool { relative(location) != nil }

    private func relative(_ location: BundleLocation) -> String? {
        guard let path else { return nil }
        let absolute = Path.absolute(location.path)
        let relative = Path.relative(absolute, to: path)
        return relative == absolute ? nil : relative
    }
}

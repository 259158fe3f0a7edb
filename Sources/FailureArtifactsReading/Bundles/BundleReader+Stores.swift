package import FailureArtifactsBundle
internal import FailureArtifactsSystem

extension BundleReader {
    /// Returns the copy with a name.
    ///
    /// - Parameter name: A store's name, `NAME.committed`, or the name of an entry; nil for the first copy.
    /// - Returns: The copy, whose entry may be missing from the archive.
    /// - Throws: An error that lists the existing names if there is no such store, or an error if it has no
    ///   copy.
    package func store(named name: String?) throws(BundleError) -> StoreChoice {
        let choices = metadata.storeChoices
        let path = location.description
        guard let name else {
            if let first = choices.first { return first }
            guard let described = metadata.stores.first else {
                throw BundleError(path, .noStores)
            }
            throw BundleError(path, .storeNotCaptured(described.name, described.capture.reason))
        }
        if let choice = choices.first(where: { $0.name == name || $0.entry == name }) { return choice }
        if let described = metadata.stores.first(where: { $0.name == name }) {
            throw BundleError(path, .storeNotCaptured(name, described.capture.reason))
        }
        throw BundleError(path, .noSuchStore(name, choices.map(\.name)))
    }
}

extension StoreChoice {
    /// The file name for the copy: the entry's own, or `store.sqlite` if that can't be used.
    package var fileName: String {
        let name = Path.name(of: entry)
        return name.isEmpty || name == "." || name == ".." ? "store.sqlite" : name
    }
}

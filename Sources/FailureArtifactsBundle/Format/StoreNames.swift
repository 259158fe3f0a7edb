/// A generator of unique store names: no two entries of a bundle collide.
package struct StoreNames {
    private var names = UniqueNames()

    package init() {}

    /// Returns a name for a store that is safe in a path and was not returned before.
    package mutating func claim(_ name: String) -> String {
        names.claim(
            SafeName.make(from: name, maximumBytes: 150), variants: [StoreEntries.committedSuffix])
    }
}

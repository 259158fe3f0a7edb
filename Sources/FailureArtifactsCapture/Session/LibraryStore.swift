/// A store that an adapter knows by its library, and that the library copies.
package struct LibraryStore: Sendable {
    /// A file that belongs to a copy without being a part of the database.
    package struct ExternalFile: Sendable {
        package let name: String
        package let path: String

        package init(name: String, path: String) {
            self.name = name
            self.path = path
        }
    }

    /// The database file.
    package let path: String
    /// Makes a copy at a path in a new directory, with its journals beside it, and tells what else came with it.
    let copy: @Sendable (_ target: String) throws -> [ExternalFile]

    /// - Parameters:
    ///   - path: The database file, absolute.
    ///   - copy: Makes a copy at a path in a new directory, on the thread of the failure. It returns the files that
    ///     belong to the copy; they are read before that directory is removed.
    package init(path: String, copy: @escaping @Sendable (_ target: String) throws -> [ExternalFile]) {
        self.path = path
        self.copy = copy
    }
}

/// A store that an adapter knows through a library, which can also copy it.
package struct LibraryStore: Sendable {
    /// A file that belongs to a copy but is not part of the database.
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
    /// Copies the store to a path in a new directory, with its journals beside it.
    ///
    /// Returns the copy's other files.
    let copy: @Sendable (_ target: String) throws -> [ExternalFile]

    /// Creates a library store.
    ///
    /// - Parameters:
    ///   - path: The absolute path of the database file.
    ///   - copy: Copies the store to a path in a new directory, on the thread of the failure. It returns the files that
    ///     belong to the copy. They are read before that directory is removed.
    package init(path: String, copy: @escaping @Sendable (_ target: String) throws -> [ExternalFile]) {
        self.path = path
        self.copy = copy
    }
}

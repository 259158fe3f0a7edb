internal import FailureArtifactsBundle

/// A store that an adapter knows through a library, such as Core Data.
///
/// Its file is captured like any other.
package struct AdapterStore: Sendable {
    /// A file that belongs to a store but is not part of the database.
    package struct ExternalFile: Sendable {
        package let name: String
        package let path: String

        package init(name: String, path: String) {
            self.name = name
            self.path = path
        }
    }

    /// The store's file; nil if it has none.
    package let path: String?
    /// The name in the bundle of a store that is only described.
    let name: String?
    /// The reason why the store is only described, as a full sentence; nil if its file is captured.
    let reasonForNoContent: String?
    /// True if the library has closed the store.
    let isClosed: Bool
    /// The test that opened the store, or closed it later; nil if it isn't known.
    let user: TestID?
    /// Returns the files that belong to the store and are not part of the database.
    let externalFiles: @Sendable () -> [ExternalFile]

    /// Creates a store with a file; `user` is the test that opened or closed it, if it is known.
    package init(
        path: String, usedBy user: RunningTest? = nil, isClosed: Bool = false,
        externalFiles: @escaping @Sendable () -> [ExternalFile] = { [] }
    ) {
        self.path = path
        name = nil
        reasonForNoContent = nil
        self.isClosed = isClosed
        self.user = user?.id
        self.externalFiles = externalFiles
    }

    /// Creates a store that is only described, because of a reason in a full sentence.
    package init(
        describedAt path: String?, named name: String, because reason: String, usedBy user: RunningTest?
    ) {
        self.path = path
        self.name = name
        reasonForNoContent = reason
        isClosed = false
        self.user = user?.id
        externalFiles = { [] }
    }

    /// Returns false for a store of another test that is running, and for a closed store of any other test.
    func belongs(to test: TestID, isRunning: (TestID) -> Bool) -> Bool {
        if isClosed { return user == test }
        guard let user, user != test else { return true }
        return !isRunning(user)
    }
}

internal import FailureArtifactsSystem

/// A store that an adapter knows through a library, such as Core Data.
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

    /// The ways to get the store's content.
    enum Content: Sendable {
        /// The library has the store open and can copy it.
        case copied(@Sendable (_ target: String) throws -> [ExternalFile])
        /// The library has closed the store, so its file is captured like any other file.
        case closedFile
        /// There is no content; the reason is a full sentence.
        case none(reason: String)
    }

    /// The store's file; nil if it has none.
    package let path: String?
    /// The name in the bundle of a store without a file.
    let name: String?
    let content: Content
    /// The test that opened the store, or closed it later; nil if it isn't known.
    let user: TestID?
    /// Returns the files that belong to the store itself, for a capture of its file.
    let externalFiles: @Sendable () -> [ExternalFile]
}

extension LibraryStore {
    /// Creates a library store that is open.
    ///
    /// - `user`: the test that opened it; nil if it isn't known.
    /// - `externalFiles`: returns the files that belong to the store and are not part of the database. It is
    ///   used if the copy fails.
    /// - `copy`: copies the store to a path in a new directory, with its journals beside it. It runs on a
    ///   thread of its own while the thread of the failure waits for it, for at most half of
    ///   ``CaptureConfiguration/timeLimitPerStore``. It returns the other files that belong to the copy. They
    ///   are read before that directory is removed.
    package init(
        path: String, usedBy user: RunningTest? = nil,
        externalFiles: @escaping @Sendable () -> [ExternalFile] = { [] },
        copy: @escaping @Sendable (_ target: String) throws -> [ExternalFile]
    ) {
        self.init(
            path: path, name: nil, content: .copied(copy), user: user?.id, externalFiles: externalFiles)
    }

    /// Creates a library store that the library has closed.
    package static func closed(
        _ path: String, usedBy user: RunningTest, externalFiles: @escaping @Sendable () -> [ExternalFile]
    ) -> LibraryStore {
        LibraryStore(
            path: path, name: nil, content: .closedFile, user: user.id, externalFiles: externalFiles)
    }

    /// Creates a library store that is only described.
    package static func described(
        _ path: String?, named name: String, because reason: String, usedBy user: RunningTest?
    ) -> LibraryStore {
        LibraryStore(
            path: path, name: name, content: .none(reason: reason), user: user?.id,
            externalFiles: { [] })
    }

    /// Returns true if a library makes a copy at a path.
    package static func isCopy(_ path: String) -> Bool {
        Path.name(of: Path.directory(of: path)).hasPrefix(LibraryCopier.directoryPrefix)
    }

    /// The reason why the store is only described; nil if it has content.
    var reasonForNoContent: String? {
        if case .none(let reason) = content { reason } else { nil }
    }

    /// Returns false for a store of another test that is running, and for a closed store of any other test.
    func belongs(to test: TestID, isRunning: (TestID) -> Bool) -> Bool {
        if case .closedFile = content { return user == test }
        guard let user, user != test else { return true }
        return !isRunning(user)
    }
}

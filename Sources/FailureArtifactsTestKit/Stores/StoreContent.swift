internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
public import Foundation

/// The initial content of a store: SQL, a database file, a captured store, or closures, in any combination.
///
/// ```swift
/// static let fruits = StoreContent<SQLiteTestStore>
///     .resource("fruits", withExtension: "sql", in: .module)
///     .then { try $0.execute("INSERT INTO fruit (name) VALUES ('apple')") }
/// ```
public struct StoreContent<Store: TestStore>: Sendable {
    enum Step: Sendable {
        /// Returns a script of SQL to run.
        case script(@Sendable () throws -> String)
        /// Creates a database file at a path.
        case file(@Sendable (_ target: String) throws -> Void)
        case closure(@Sendable (Store) throws -> Void)
    }

    private(set) var steps: [Step]

    /// The empty content: the store as the library creates it.
    public static var empty: StoreContent { StoreContent(steps: []) }

    /// Returns the content that a script of SQL creates.
    ///
    /// - Parameter sql: One or more statements, separated by semicolons.
    /// - Returns: The content.
    public static func script(_ sql: String) -> StoreContent {
        StoreContent(steps: [.script { sql }])
    }

    /// Returns the content of a resource: a database (`.sqlite`, `.sqlite3`, `.db`), or otherwise a script of SQL.
    ///
    /// - Parameters:
    ///   - name: The resource's name, without its extension.
    ///   - fileExtension: The resource's extension, without a dot.
    ///   - subdirectory: A directory in the bundle; nil for its top.
    ///   - bundle: The bundle with the test's resources, such as `.module`.
    /// - Returns: The content. A missing resource is an error when a store is opened with it.
    public static func resource(
        _ name: String, withExtension fileExtension: String, subdirectory: String? = nil,
        in bundle: Bundle
    ) -> StoreContent {
        let url = bundle.url(
            forResource: name, withExtension: fileExtension, subdirectory: subdirectory)
        guard let url else {
            let place = bundle.bundleURL.path(percentEncoded: false)
            let error = TestStoreError(
                .file, "There is no resource '\(name).\(fileExtension)' in '\(place)'.")
            return StoreContent(steps: [.script { throw error }])
        }
        if ["sqlite", "sqlite3", "db"].contains(fileExtension) { return copy(of: url) }
        return StoreContent(steps: [.script { try String(contentsOf: url, encoding: .utf8) }])
    }

    /// Returns the content of a database file, which stays unchanged.
    ///
    /// - Parameter file: A database, with its WAL beside it, if any.
    /// - Returns: The content. The file is copied each time a store is opened with it; a file that doesn't exist or
    ///   cannot be read is an error then.
    public static func copy(of file: URL) -> StoreContent {
        let path = file.path(percentEncoded: false)
        return StoreContent(steps: [
            .file { target in
                do {
                    guard try FileSystem.status(of: path) != nil else {
                        throw TestStoreError(.file, "There is no database at '\(path)'.")
                    }
                    try DatabaseCopy.copy(file: path, toNewFile: target)
                } catch let error as SQLiteError {
                    throw TestStoreError(.file, "'\(path)' cannot be copied", because: error)
                }
            }
        ])
    }

    /// Returns content that `failure-artifacts reduce` can replace.
    ///
    /// ```swift
    /// override var content: StoreContent<SQLiteTestStore> {
    ///     .reducible(.resource("march", withExtension: "sqlite", in: .module))
    /// }
    /// ```
    ///
    /// - Parameter content: The usual content.
    /// - Returns: The database that the environment variable `FAILURE_ARTIFACTS_FIXTURE` names, or `content` if the
    ///   variable isn't set. The variable is read when this method is called.
    public static func reducible(_ content: StoreContent) -> StoreContent {
        let path = ProcessEnvironment.variables["FAILURE_ARTIFACTS_FIXTURE", default: ""]
        return path.isEmpty ? content : copy(of: URL(filePath: path))
    }

    /// Returns the content that a closure puts into a store.
    ///
    /// - Parameter body: A closure that takes the open store, and fills it by the library's own means.
    /// - Returns: The content.
    public static func prepared(_ body: @escaping @Sendable (Store) throws -> Void) -> StoreContent {
        StoreContent(steps: [.closure(body)])
    }

    /// Returns this content followed by another one.
    ///
    /// - Parameter content: The content to add. A database file replaces everything before it.
    /// - Returns: The combined content.
    public func then(_ content: StoreContent) -> StoreContent {
        StoreContent(steps: steps + content.steps)
    }

    /// Returns this content followed by the work of a closure.
    ///
    /// - Parameter body: A closure that takes the open store.
    /// - Returns: The combined content.
    public func then(_ body: @escaping @Sendable (Store) throws -> Void) -> StoreContent {
        then(.prepared(body))
    }
}

extension StoreContent {
    init(file: @escaping @Sendable (_ target: String) throws -> Void) {
        self.init(steps: [.file(file)])
    }

    /// Opens a store and puts the content into it.
    ///
    /// - Parameters:
    ///   - location: The store's location.
    ///   - directory: An existing directory for temporary files.
    /// - Returns: The open store.
    /// - Throws: An error if the store cannot be opened or filled; it is closed again.
    func open(at location: StoreLocation, directory: String) throws -> Store {
        var steps = steps[...]
        // The library opens an existing database, as it would open an application's.
        if case .file(let url) = location, case .file(let put)? = steps.first {
            try put(url.path(percentEncoded: false))
            steps = steps.dropFirst()
        }
        let store = try Store(at: location)
        do {
            for step in steps { try Self.run(step, on: store, directory: directory) }
        } catch {
            try? store.close()
            throw error
        }
        return store
    }

    private static func run(_ step: Step, on store: Store, directory: String) throws {
        switch step {
        case .closure(let body): try body(store)
        case .script(let text):
            let sql = try text()
            try store.withConnection { try BorrowedConnection(handle: $0).execute(sql) }
        case .file(let put):
            let folder = try FileSystem.createUniqueDirectory(in: directory, prefix: "content-")
            defer { try? FileSystem.remove(folder) }
            let file = Path.join(folder, "content.sqlite")
            try put(file)
            try store.withConnection { try DatabaseCopy.copy(file: file, to: $0) }
        }
    }
}

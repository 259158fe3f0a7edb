public import Foundation
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// What a store holds when a test starts: a schema, rows, or a store that was kept.
///
/// ```swift
/// static let fruits = StoreContent<SQLiteTestStore>
///     .resource("fruits", withExtension: "sql", in: .module)
///     .then { try $0.execute("INSERT INTO fruit (name) VALUES ('apple')") }
/// ```
public struct StoreContent<Store: TestStore>: Sendable {
    enum Step: Sendable {
        /// Gives a script of SQL.
        case script(@Sendable () throws -> String)
        /// Puts a database file at a new path.
        case file(@Sendable (_ target: String) throws -> Void)
        case closure(@Sendable (Store) throws -> Void)
    }

    private(set) var steps: [Step]

    /// Nothing: the store as the library creates it.
    public static var empty: StoreContent { StoreContent(steps: []) }

    /// What a script of SQL creates.
    ///
    /// - Parameter sql: One or more statements.
    /// - Returns: The content.
    public static func script(_ sql: String) -> StoreContent {
        StoreContent(steps: [.script { sql }])
    }

    /// What the script of SQL in a file creates.
    ///
    /// - Parameter file: A file in UTF-8, read each time a test starts.
    /// - Returns: The content.
    public static func script(in file: URL) -> StoreContent {
        StoreContent(steps: [
            .script {
                do {
                    return try String(contentsOf: file, encoding: .utf8)
                } catch {
                    throw TestStoreError(
                        .file, "The script '\(file.path(percentEncoded: false))' cannot be read",
                        because: error)
                }
            }
        ])
    }

    /// What a resource holds: a database (`.sqlite`, `.sqlite3`, `.db`), or else a script of SQL.
    ///
    /// - Parameters:
    ///   - name: The resource's name.
    ///   - fileExtension: Its extension.
    ///   - subdirectory: The folder in the bundle.
    ///   - bundle: The bundle with the test's resources, such as `.module`.
    /// - Returns: The content. A resource that is missing fails the test that starts with it.
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
        return ["sqlite", "sqlite3", "db"].contains(fileExtension) ? copy(of: url) : script(in: url)
    }

    /// What a database file holds, which stays as it is.
    ///
    /// - Parameter file: A database, with its WAL beside it where it has one.
    /// - Returns: The content.
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

    /// What a closure puts into a store.
    ///
    /// - Parameter body: Gets the open store.
    /// - Returns: The content.
    public static func prepared(_ body: @escaping @Sendable (Store) throws -> Void) -> StoreContent {
        StoreContent(steps: [.closure(body)])
    }

    /// The same with more on top.
    ///
    /// - Parameter content: What is put in afterwards. A database replaces all that was there.
    /// - Returns: Both.
    public func then(_ content: StoreContent) -> StoreContent {
        StoreContent(steps: steps + content.steps)
    }

    /// The same with more on top.
    ///
    /// - Parameter body: Gets the open store.
    /// - Returns: Both.
    public func then(_ body: @escaping @Sendable (Store) throws -> Void) -> StoreContent {
        then(.prepared(body))
    }
}

extension StoreContent {
    init(file: @escaping @Sendable (_ target: String) throws -> Void) {
        self.init(steps: [.file(file)])
    }

    /// Opens a store and puts this into it.
    ///
    /// - Parameters:
    ///   - location: Where it is to be.
    ///   - directory: An existing directory for files that are needed on the way.
    /// - Returns: The store, open.
    /// - Throws: Why there is none. It is closed again then.
    func open(at location: StoreLocation, directory: String) throws -> Store {
        var steps = steps[...]
        // A library finds a database in place, with its header, as it would find an application's.
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

    /// Puts this into an open store.
    func put(into store: Store, directory: String) throws {
        for step in steps { try Self.run(step, on: store, directory: directory) }
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

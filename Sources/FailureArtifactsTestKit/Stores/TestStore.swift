internal import CFailureArtifactsSQLite
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
public import Foundation

/// A type of store that the test kit can open, fill and close: the adapter to a SQLite library.
///
/// ```swift
/// final class Fruits: TestStore {
///     let queue: DatabaseQueue
///     init(at location: StoreLocation) throws { queue = try DatabaseQueue(path: location.path) }
///     func close() throws { try queue.close() }
///     func withConnection<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
///         try queue.inDatabase { try body($0.sqliteConnection!) }
///     }
/// }
/// ```
///
/// The kit calls a store's methods on the thread of the test that uses the store.
public protocol TestStore: AnyObject, Sendable {
    /// Opens a store, and creates it if it doesn't exist.
    ///
    /// - `location`: the store's location. A connection to ``StoreLocation/devNull`` must run
    ///   ``StoreLocation/setupAtDevNull`` first.
    init(at location: StoreLocation) throws

    /// Closes the store.
    ///
    /// The kit calls this method once, after the test's teardown.
    func close() throws

    /// Lends the connection that writes to a closure.
    ///
    /// SQL scripts, ``deleteAllRows(keeping:)``, and copies of stores that aren't files need it. The default
    /// implementation throws an error, for libraries that cannot lend their connection.
    ///
    /// - `body`: a closure that takes the `sqlite3 *`. Call it outside of a transaction, and let no other code
    ///   use the connection meanwhile.
    func withConnection<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result
}

extension TestStore {
    /// Throws an error: by default a store cannot lend its connection.
    ///
    /// - Parameter body: A closure that isn't called.
    /// - Returns: Never.
    /// - Throws: An error with the reason ``TestStoreError/Reason/noConnection``.
    public func withConnection<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        throw TestStoreError(
            .noConnection,
            "\(Self.self) cannot lend its connection, which is needed here. Implement "
                + "'withConnection(_:)' of TestStore.")
    }
}

extension TestStore {
    /// Runs one statement on the connection that writes, and returns its rows.
    ///
    /// - Parameters:
    ///   - sql: A single statement.
    ///   - arguments: The values of the statement's parameters `?`, in order.
    /// - Returns: The rows, each with its values in the order of the columns.
    /// - Throws: An error if SQLite cannot compile or run the statement, if the number of arguments is wrong, or if the
    ///   store cannot lend its connection.
    @discardableResult
    public func rows(_ sql: String, _ arguments: SQLiteValue...) throws -> [[SQLiteValue]] {
        try withConnection { try BorrowedConnection(handle: $0).rows(sql, arguments) }
    }
}

/// The location of one store of a test.
public enum StoreLocation: Hashable, Sendable {
    /// A database file in an existing directory; opening the store creates the file if it doesn't exist.
    case file(URL)
    /// A database in memory, with the store's name in a bundle.
    ///
    /// A library that opens `:memory:` cannot pass the name on; its store is called `memory`.
    case memory(name: String)
    /// The file `/dev/null`: a file to the library, but never written to.
    ///
    /// SQLite keeps such a store in its page cache, provided that the connection runs ``setupAtDevNull`` first. A
    /// process can have one such store at a time, or several if they are opened by the URI `file:/dev/null?nolock=1`.
    case devNull

    /// The statements that a connection to `/dev/null` must run before any other.
    ///
    /// With them SQLite reads nothing back from the file, and creates no journal in `/dev`.
    public static let setupAtDevNull = """
        PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; \
        PRAGMA cache_spill = OFF; PRAGMA cache_size = -1000000000; PRAGMA temp_store = MEMORY
        """

    /// The path for a library to open: a file's path, `:memory:` or `/dev/null`.
    public var path: String {
        switch self {
        case .file(let url): url.path(percentEncoded: false)
        case .memory: ":memory:"
        case .devNull: "/dev/null"
        }
    }
}

/// The placement of tests' stores: on disk or in memory.
public enum StorePlacement: String, CaseIterable, Hashable, Sendable {
    /// Files in a directory of the test's own, below the temporary directory.
    case onDisk = "disk"
    /// Databases in memory.
    case inMemory = "memory"
    /// The file `/dev/null`; see ``StoreLocation/devNull``.
    case atDevNull = "null"

    /// The placement that the environment variable `FAILURE_ARTIFACTS_TEST_STORES` names: `disk`, `memory` or `null`;
    /// by default `disk`.
    ///
    /// The variable is read once. Another value gives one warning on standard error.
    public static let standard: StorePlacement = {
        var reader = EnvironmentReader(ProcessEnvironment.variables)
        let placement = reader.value(
            of: "FAILURE_ARTIFACTS_TEST_STORES", default: StorePlacement.onDisk,
            or: "one of disk, memory, null", described: \.rawValue
        ) { StorePlacement(rawValue: $0) }
        for warning in reader.warnings {
            StandardError.writeLine("failure-artifacts: warning: \(warning)")
        }
        return placement
    }()
}

/// An error of the test kit, or a report of changes that a test left in a shared store or container.
public struct TestStoreError: Error, Equatable, Sendable, CustomStringConvertible, LocalizedError {
    /// The kind of an error.
    public enum Reason: Equatable, Sendable {
        /// An error of SQLite, with its extended result code (<https://www.sqlite.org/rescode.html>).
        case sqlite(Int32)
        /// A store that cannot lend its connection, see ``TestStore/withConnection(_:)``.
        case noConnection
        /// A store that cannot be opened, filled, compared or closed.
        case cannotStart
        /// A file or resource that is missing or cannot be read.
        case file
        /// A bundle that cannot be read, or that has no such store or state.
        case bundle
        /// A version that isn't in the chain or the model, that isn't reached yet, or that is out of order.
        case version
        /// A table that triggers fill again each time its rows are deleted.
        case notEmptied
        /// A shared store or container that a test left changed.
        case leak
    }

    /// The kind of the error.
    public let reason: Reason
    /// The error's message: one or more full sentences.
    public let description: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: The kind of the error.
    ///   - description: One or more full sentences.
    public init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }

    /// The error's message, for `localizedDescription`.
    public var errorDescription: String? { description }

    init(_ error: SQLiteError) {
        self.init(.sqlite(error.code), Self.sentence(error.description))
    }

    /// Creates an error from another one, with the failed attempt before its text.
    package init(_ reason: Reason, _ attempt: String, because error: any Error) {
        self.init(reason, "\(attempt): \(Self.text(error))")
    }

    /// Returns an error's message, ending in a period.
    package static func text(_ error: any Error) -> String {
        if let error = error as? TestStoreError { return error.description }
        let text = String(describing: error)
        return text.hasSuffix(".") ? text : text + "."
    }

    /// Returns a clause as a sentence.
    static func sentence(_ clause: String) -> String {
        clause.prefix(1).uppercased() + clause.dropFirst() + (clause.hasSuffix(".") ? "" : ".")
    }
}

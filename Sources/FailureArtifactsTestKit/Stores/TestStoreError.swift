internal import FailureArtifactsSQLite
public import Foundation

/// Something the kit was asked for that is impossible, or a test that left something behind.
public struct TestStoreError: Error, Equatable, Sendable, CustomStringConvertible, LocalizedError {
    /// What kind of thing went wrong.
    public enum Reason: Equatable, Sendable {
        /// SQLite refused; the number is its extended result code (<https://www.sqlite.org/rescode.html>).
        case sqlite(Int32)
        /// The store lends no connection, see ``TestStore/withConnection(_:)``.
        case noConnection
        /// The store cannot be opened, or its content cannot be put in place.
        case cannotStart
        /// A file or resource that is missing or cannot be read.
        case file
        /// A bundle that has no such store or state, or that cannot be read.
        case bundle
        /// A version that is not in the chain, not reached yet, or out of order.
        case version
        /// Rows that a trigger puts back as often as they are deleted.
        case notEmptied
        /// A test left rows behind in a shared store, or changed it otherwise.
        case leak
    }

    /// What kind of thing went wrong.
    public let reason: Reason
    /// One or more full sentences.
    public let description: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: What kind of thing went wrong.
    ///   - description: One or more full sentences.
    public init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }

    /// The description.
    public var errorDescription: String? { description }

    init(_ error: SQLiteError) {
        self.init(.sqlite(error.code), Self.sentence(error.description))
    }

    /// An error of any kind, with what was attempted as a sentence before it.
    init(_ reason: Reason, _ attempt: String, because error: any Error) {
        self.init(reason, "\(attempt): \(Self.text(error))")
    }

    static func text(_ error: any Error) -> String {
        if let error = error as? TestStoreError { return error.description }
        let text = String(describing: error)
        return text.hasSuffix(".") ? text : text + "."
    }

    static func sentence(_ clause: String) -> String {
        clause.prefix(1).uppercased() + clause.dropFirst() + (clause.hasSuffix(".") ? "" : ".")
    }
}

internal import CFailureArtifactsSQLite
internal import FailureArtifactsSQLite
public import Foundation

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

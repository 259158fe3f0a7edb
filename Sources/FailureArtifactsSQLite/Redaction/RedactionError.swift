/// The reason why a copy cannot be redacted.
package struct RedactionError: Error, CustomStringConvertible {
    /// A full sentence, without any value of the store.
    package let description: String

    init(_ description: String) { self.description = description }

    init(_ error: SQLiteError) {
        // The operation is a statement of ours; the message names tables and columns only.
        self.init("SQLite says: \(error.message) (error \(error.code)).")
    }
}

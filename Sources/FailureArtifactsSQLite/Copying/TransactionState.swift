/// The kind of transaction that a connection has open in a database.
package enum TransactionState: Sendable {
    case none, read, write
}

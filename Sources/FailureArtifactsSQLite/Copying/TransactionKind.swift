/// The kind of transaction that a connection has open in a database.
package enum TransactionKind: Sendable {
    case none, read, write
}

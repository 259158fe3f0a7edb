/// The kind of transaction that a connection has open in a database.
package enum OpenTransaction: Sendable {
    case none, read, write
}

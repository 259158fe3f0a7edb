internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSQLite

/// A connection of the application, while it is borrowed.
struct BorrowedHandle {
    let handle: OpaquePointer
    let record: UnsafeMutablePointer<failure_artifacts_connection>
    let hasMutex: Bool

    /// Returns the transaction that the connection has open in a database, from `sqlite3_txn_state`.
    func transaction(in schema: String) -> TransactionKind {
        switch failure_artifacts_transaction_state(record, schema) {
        case SQLITE_TXN_WRITE: .write
        case SQLITE_TXN_READ: .read
        default: .none
        }
    }
}

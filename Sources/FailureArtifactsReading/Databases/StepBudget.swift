internal import CFailureArtifactsSQLite
package import FailureArtifactsSQLite

/// A number of steps of SQLite's virtual machine that connections may use together; unlike a time limit, it has the
/// same effect on every machine.
package final class StepBudget {
    /// The number of steps between two calls of the progress handler.
    private static let interval: CInt = 1000

    private let left: UnsafeMutablePointer<Int>

    package init(steps: Int) {
        left = .allocate(capacity: 1)
        left.initialize(to: steps)
    }

    deinit {
        left.deallocate()
    }

    package var isUsedUp: Bool { left.pointee <= 0 }

    /// Interrupts the connection's statements once no steps are left; they fail with an error whose
    /// ``SQLiteError/isInterrupted`` is true.
    ///
    /// - `connection`: a connection that is closed before this object ends. It has no other limit of time.
    package func limit(_ connection: borrowing Connection) {
        sqlite3_progress_handler(
            connection.handle, Self.interval,
            { context in
                guard let left = context?.assumingMemoryBound(to: Int.self) else { return 0 }
                left.pointee -= Int(StepBudget.interval)
                return left.pointee <= 0 ? 1 : 0
            }, left)
    }
}

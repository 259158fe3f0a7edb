internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

extension Connection {
    /// Runs `body` with a limit of SQLite's memory that is higher by a number of bytes, if the application has set one.
    ///
    /// The limit applies to the whole process. The old one is restored, unless another one was set meanwhile.
    package static func exceedingMemoryLimit<Result>(by bytes: Int64, _ body: () -> Result) -> Result {
        let isRaised = raisedLimit.withLock { raised in
            let limit = sqlite3_hard_heap_limit64(-1)
            guard limit > 0 else { return false }
            raised = min(limit, Int64.max - bytes) + bytes
            sqlite3_hard_heap_limit64(raised)
            return true
        }
        defer {
            if isRaised {
                raisedLimit.withLock { raised in
                    // The application may have set another limit meanwhile.
                    guard sqlite3_hard_heap_limit64(-1) == raised else { return }
                    raised -= bytes
                    sqlite3_hard_heap_limit64(raised)
                }
            }
        }
        return body()
    }

    /// The limit that ``exceedingMemoryLimit(by:_:)`` set last, in bytes.
    private static let raisedLimit = Lock<Int64>(0)
}

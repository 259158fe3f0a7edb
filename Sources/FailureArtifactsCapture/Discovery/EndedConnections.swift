/// What was kept of connections that have ended, of one database or several.
struct EndedConnections {
    private(set) var images: [SavedState] = []
    /// In the order of their end.
    private(set) var logs = KeptLogs()
    /// The last statement.
    private(set) var lastUse: UInt64 = 0
    /// The last statement of those that were not rolled back last.
    private var lastSettledUse: UInt64 = 0

    /// Adds what a connection leaves.
    ///
    /// - Parameters:
    ///   - images: What was kept of it.
    ///   - log: Its last statements.
    ///   - use: Its last statement, in the order of those of all connections.
    ///   - unwoundAt: Where the last thing that was done with it is a rollback: when that began, in the same
    ///     order.
    mutating func add(
        _ images: [SavedState], _ log: KeptLog? = nil, lastUse use: UInt64, unwoundAt: UInt64?
    ) {
        self.images += images.filter { image in
            image.reason == .end || unwoundAt.map { image.isOfRollback(since: $0) } ?? false
        }
        logs.add(log)
        lastUse = max(lastUse, use)
        if unwoundAt == nil { lastSettledUse = max(lastSettledUse, use) }
    }

    /// The part that one database has in it.
    func only(_ schema: String) -> EndedConnections {
        var result = self
        result.images.removeAll { $0.schema != schema }
        return result
    }

    /// The content at the end, where no file has it.
    var last: SavedState? { images.last { $0.reason == .end && $0.size > 0 } }

    /// The content before a rollback that nothing followed but the end.
    var imageBeforeRollback: SavedState? {
        let latest = images.filter { $0.reason == .rollback }.max { $0.order < $1.order }
        return latest.flatMap { $0.order >= lastSettledUse ? $0 : nil }
    }
}

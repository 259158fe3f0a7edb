internal import CFailureArtifactsShared
internal import FailureArtifactsSQLite

/// The last statements of a process that could not write its bundles.
struct LoggedStatements: Sendable {
    let clock: RecorderClock
    /// The parts of each connection's log, oldest first.
    let connections: [[LogChunk]]
    let states: [RecordedStates]
    /// The tests that the list has, ended or not.
    let tests: [BundleMetadata.NumberedTest]

    /// The last statements of a store.
    struct Log: Sendable {
        /// The statements, oldest first.
        let records: [StatementRecord]
        /// The maximum number of statements, if it was reached; otherwise nil.
        let limit: Int?
    }

    /// Finds the last statements of a store's connections.
    ///
    /// The test started after the statement with the given number.
    func log(of path: String, testStartedAfter start: UInt64) -> Log {
        log(of: connections.filter { $0.last?.path == path }, testStartedAfter: start)
    }

    /// Finds the last statements and the states of each store without a file that the test used.
    ///
    /// The stores are in the order in which they were opened.
    func storesInMemory(testStartedAfter start: UInt64) -> [(log: Log, states: RecordedStates?)] {
        let inMemory = connections.filter { $0.last?.path == nil }
        // Connections share a store if its states say so.
        let shared = states.filter { $0.file == nil }.map { states in
            (inMemory.filter { states.connections.contains($0.last?.connection ?? 0) }, states)
        }
        let known = Set(shared.flatMap { $1.connections })
        let others = inMemory.filter { !known.contains($0.last?.connection ?? 0) }
        let stores = shared.map { ($0, Optional($1)) } + others.map { ([$0], nil) }
        return stores.map { (log: log(of: $0, testStartedAfter: start), states: $1) }
            .filter { $0.log.records.last?.phase == .test }
            .sorted { ($0.log.records.first?.connection ?? 0) < ($1.log.records.first?.connection ?? 0) }
    }

    private func log(of connections: [[LogChunk]], testStartedAfter start: UInt64) -> Log {
        let maximum = connections.compactMap { $0.last?.maximum }.max() ?? 0
        // The histories aren't read yet.
        let statements = connections.flatMap { $0.statements(before: nil, keeping: .last(.max)) }
            .merged()
        let records = statements.limited(to: maximum).map {
            $0.record(by: clock, testStartedAfter: start)
        }
        return Log(records: records, limit: statements.reach(maximum) ? maximum : nil)
    }
}

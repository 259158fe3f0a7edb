internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsBundle

/// The statements of ended connections to one store.
struct KeptLogs: Sendable {
    /// The maximum number of connections.
    ///
    /// If there are more, the last ones are kept.
    static let maximumCount = 16

    private var logs: [KeptLog] = []
    /// True if there were more connections.
    private(set) var isCut = false
    /// True if logs are missing from before the store was closed and opened again.
    private(set) var lacksOlder = false

    init(_ log: KeptLog? = nil) { add(log) }

    mutating func add(_ log: KeptLog?) {
        guard let log else { return }
        if logs.count == Self.maximumCount {
            logs.removeFirst()
            isCut = true
        }
        logs.append(log)
    }

    /// Adds the logs from before the store was closed and opened again, as far as there is space.
    ///
    /// If `earlier` is nil, they are missing.
    mutating func addEarlier(_ earlier: KeptLogs?) {
        let kept = earlier?.logs.suffix(Self.maximumCount - logs.count) ?? []
        lacksOlder = earlier.map { $0.lacksOlder || kept.count < $0.logs.count } ?? true
        isCut = isCut || earlier?.isCut == true
        logs = kept + logs
    }

    func statements(keeping history: LoggedHistory) -> [LoggedStatement] {
        logs.flatMap { $0.statements(keeping: history) }
    }
}

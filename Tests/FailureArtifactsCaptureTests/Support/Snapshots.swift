import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import Foundation
import Testing

@testable import FailureArtifactsCapture

extension Snapshotter.Targets {
    /// Returns the paths of `copy.sqlite` and the files beside it.
    static func copies(in directory: String) -> Self {
        Self(
            copy: directory + "/copy.sqlite", committed: directory + "/copy.committed.sqlite",
            raw: directory + "/raw.sqlite", history: directory + "/copy.wal-history")
    }
}

/// Copies a store to `copy.sqlite` and the files beside it.
func capture(
    _ store: DiscoveredStore, in directory: String, maximumBytes: UInt64 = 1 << 30,
    maximumHistoryBytes: UInt64 = 64 << 20, timeLimit: Double = 2, afterError: Bool = false
) -> Snapshot {
    var snapshotter = Snapshotter(timeLimit: timeLimit, maximumBytes: maximumBytes)
    snapshotter.maximumHistoryBytes = maximumHistoryBytes
    // No test depends on the speed of the machine.
    snapshotter.historyTimeLimit = 60
    return snapshotter.capture(
        store, to: .copies(in: directory), prefersStateBeforeRollback: afterError)
}

/// Checks that a copy is one sound stand-alone file.
func expectStandalone(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    for suffix in ["-wal", "-shm", "-journal"] {
        #expect(
            !FileManager.default.fileExists(atPath: path + suffix), sourceLocation: sourceLocation)
    }
    let header = try FileSystem.contents(ofFile: path).prefix(20)
    #expect(Array(header[18...]) == [1, 1], sourceLocation: sourceLocation)
    #expect(
        try sqlite3Program(path, "PRAGMA integrity_check; PRAGMA journal_mode") == "ok\ndelete",
        sourceLocation: sourceLocation)
}

/// Returns the output of the `sqlite3` program for a copy.
func copied(
    _ directory: String, _ sql: String = "SELECT a FROM t", committed: Bool = false
) throws -> String {
    try sqlite3Program(directory + (committed ? "/copy.committed.sqlite" : "/copy.sqlite"), sql)
}

/// Runs `body` on another thread and waits for it.
func onAnotherThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) throws -> Result {
    let result = Lock<Result?>(nil)
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        let value = body()
        result.withLock { $0 = value }
        done.signal()
    }
    done.wait()
    let value = result.withLock { $0 }
    return try #require(value)
}

extension Snapshot {
    /// The codes of the warnings, in order.
    var warningCodes: [CaptureWarning.Code] {
        warnings.compactMap { $0.code.flatMap(CaptureWarning.Code.init) }
    }
}

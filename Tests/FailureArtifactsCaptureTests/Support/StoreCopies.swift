import CFailureArtifactsSQLite
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

extension StoreCopier.Targets {
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
) -> StoreCopy {
    var copier = StoreCopier(timeLimit: timeLimit, maximumBytes: maximumBytes)
    copier.maximumHistoryBytes = maximumHistoryBytes
    // No test depends on the speed of the machine.
    copier.historyTimeLimit = 60
    return copier.capture(
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

/// Rebuilds every state, and returns the sorted values of table `t` in each, read with the `sqlite3` program.
func rebuiltStates(_ directory: String, of copy: String = "copy.sqlite") throws -> [String] {
    let history = try HistoryReader(path: directory + "/copy.wal-history")
    return try (0...history.transactions.count).map { state in
        let path = "\(directory)/state-\(state).sqlite"
        try history.rebuild(at: state, from: "\(directory)/\(copy)", to: path)
        let tables = try sqlite3Program(
            path, "PRAGMA integrity_check; SELECT name FROM sqlite_schema WHERE name = 't'")
        if tables == "ok" { return "empty" }
        #expect(tables == "ok\nt")
        return try sqlite3Program(path, "SELECT group_concat(a) FROM (SELECT a FROM t ORDER BY a)")
    }
}

/// The files below a directory that this process has open, by descriptor.
func openFiles(below directory: String) throws -> [CInt: String] {
    var files: [CInt: String] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
        guard let path, path.hasPrefix(directory), let number = CInt(name) else { continue }
        files[number] = path
    }
    return files
}

/// Runs `body` with an application's connection to a new store, the store's path and its directory.
func withStore(
    _ sql: String = "", flags: Int32 = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
    _ body: (ApplicationHandle, _ path: String, _ directory: String) throws -> Void
) throws {
    try withTemporaryDirectory { directory in
        let path = directory + "/shop.sqlite"
        let application = try ApplicationHandle(path, flags: flags)
        try application.run(sql)
        try body(application, path, directory)
    }
}

/// Copies the store of a connection, and checks that the application and others can't notice it.
func captureUndisturbed(
    _ application: ApplicationHandle, path: String? = nil, in directory: String,
    writer: OtherProcess? = nil, timeLimit: Double = 2,
    sourceLocation: SourceLocation = #_sourceLocation
) throws -> StoreCopy {
    try Witness.undisturbed(
        application, path: path, writer: writer, sourceLocation: sourceLocation
    ) {
        capture(try application.store, in: directory, timeLimit: timeLimit)
    }
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

extension StoreCopy {
    /// The codes of the warnings, in order.
    var warningCodes: [CaptureWarning.Code] {
        warnings.compactMap { $0.code.flatMap(CaptureWarning.Code.init) }
    }
}

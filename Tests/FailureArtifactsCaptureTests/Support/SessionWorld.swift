import CFailureArtifactsSQLite
import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// A directory with an open store, and a session that writes to it.
final class SessionWorld: @unchecked Sendable {
    let directory: String
    private(set) var session: CaptureSession
    var configuration = CaptureConfiguration()
    private var handle: OpaquePointer?

    init(_ change: (inout CaptureConfiguration) -> Void = { _ in }) throws {
        directory = try FileSystem.createUniqueDirectory(
            in: FileManager.default.temporaryDirectory.path, prefix: "session tests ")
        configuration.mode = .firstFailure
        configuration.directory = URL(filePath: directory + "/artifacts")
        configuration.discoversStores = false
        // As on a CI service.
        configuration.limits.removesOldest = false
        change(&configuration)
        session = CaptureSession(configuration: configuration)
        try #require(sqlite3_open(directory + "/ledger.sqlite", &handle) == SQLITE_OK)
        try run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
    }

    deinit {
        sqlite3_close_v2(handle)
        try? FileSystem.remove(directory)
    }

    /// Simulates another process: it only knows the content of the directory.
    func startAgain() {
        session = CaptureSession(configuration: configuration)
        session.testsWillStart()
    }

    func run(_ sql: String) throws {
        try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
    }

    /// Starts a test with the store.
    func start(_ name: String = "testTotal", arguments: [String]? = nil) -> RunningTest {
        let test = session.testWillStart(
            framework: "XCTest", suite: "LedgerTests", name: name, arguments: arguments, isAlone: false)
        test.state.withLock { $0.registered.append((directory + "/ledger.sqlite", nil)) }
        return test
    }

    func fail(_ test: RunningTest, _ message: String = "m") {
        session.testDidFail(
            test, FailureEvent(message: message, file: "T.swift", line: 1, kind: .assertion))
    }

    var left: [String] {
        (try? FileSystem.contents(ofDirectory: directory + "/artifacts")) ?? []
    }

    func finish(_ test: RunningTest) {
        session.testDidFinish(test)
        session.testsDidFinish()
    }

    /// Returns the only bundle.
    func bundle() throws -> BundleReader {
        let location = try BundleLocator.single(at: directory + "/artifacts")
        return try BundleReader(location, scratchDirectory: directory)
    }

    /// Returns the number of rows in a copy of the store.
    func rows(_ bundle: BundleReader, _ store: String? = nil) throws -> Int64? {
        try bundle.rows(ofFirstTableIn: store)
    }
}

extension BundleReader {
    /// Returns the number of rows in the first table of a store's copy.
    func rows(ofFirstTableIn name: String?) throws -> Int64? {
        try withTemporaryDirectory { directory in
            let choice = try store(named: name)
            let path = try extract(choice, below: directory)
            return choice.store.inspected(copyAt: path)?.tables?.first?.rows
        }
    }
}

import CSuiteSQLite
import FailureArtifacts
import Foundation
import XCTest

/// Redactions that a test suite configures itself.
final class ConfiguredRedactionTests: XCTestCase {
    private let secret = ProcessInfo.processInfo.environment["SUITE_SECRET"] ?? "no secret"

    override func setUp() {
        CaptureConfiguration.current.redactions = [
            .drop(table: "sessions"), .hash("token"), .leaveOut(attachment: "*.log"), .shortenHomePaths,
        ]
        CaptureConfiguration.current.redactionSalt = "pepper"
        CaptureConfiguration.current.recordsBoundValues = true
    }

    private func makeStore() throws -> OpaquePointer? {
        let handle = try openStore(try freshPath("redacted.sqlite"))
        try execute(
            """
            CREATE TABLE users(name, token); CREATE TABLE sessions(content);
            INSERT INTO users VALUES ('ann', '\(secret)'), ('bob', '\(secret)');
            INSERT INTO sessions VALUES ('\(secret)')
            """, on: handle)
        return handle
    }

    private func insert(_ handle: OpaquePointer?, _ token: String) {
        var statement: OpaquePointer?
        sqlite3_prepare_v2(handle, "INSERT INTO users VALUES ('eve', ?)", -1, &statement, nil)
        sqlite3_bind_text(statement, 1, token, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
        XCTAssertEqual(sqlite3_step(statement), SQLITE_DONE)
        sqlite3_finalize(statement)
    }

    func testSnapshotsStatementsAndAttachments() throws {
        let handle = try makeStore()
        CurrentTest.snapshot("before")
        insert(handle, secret)
        CurrentTest.attach(Data(secret.utf8), named: "server.log")
        CurrentTest.attach(Data("kept".utf8), named: "kept.txt")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("other.log")
        try Data(secret.utf8).write(to: file)
        CurrentTest.attach(file, named: "renamed")
        XCTFail("planned at \(NSHomeDirectory())/somewhere")
    }

    func testIsKilled() throws {
        let handle = try makeStore()
        insert(handle, secret)
        kill(getpid(), SIGKILL)
        pause()
    }
}

import CSuiteSQLite
import Foundation
import Testing
import XCTest

/// Opens a store with one row in a fresh directory.
private func openStore(_ name: String) throws -> OpaquePointer? {
    let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("suite-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    var handle: OpaquePointer?
    sqlite3_open(directory.appendingPathComponent(name).path, &handle)
    sqlite3_exec(
        handle, "CREATE TABLE fruit (name TEXT NOT NULL); INSERT INTO fruit VALUES ('apple')", nil, nil,
        nil)
    return handle
}

/// One test for each result that a CI service distinguishes.
final class CITests: XCTestCase {
    func testPasses() throws {
        sqlite3_close(try openStore("passes.sqlite"))
        print("no end of line, ", terminator: "")
    }

    /// The message is difficult for logs of CI services, for XML and for Markdown.
    func testFails() throws {
        let store = try openStore("fails.sqlite")
        defer { sqlite3_close(store) }
        XCTAssertEqual(
            1, 2,
            """
            <&> ]]> "quoted" ``` 100%
            ::set-output name=stolen::yes
            ##[error]stolen ##vso[task.complete result=Succeeded]stolen \u{1B}[31m\u{0}\u{FFFF}
            """)
        XCTFail("a second one")
    }

    func testThrows() throws {
        struct Broken: Error {}
        let store = try openStore("throws.sqlite")
        defer { sqlite3_close(store) }
        throw Broken()
    }

    func testIsSkipped() throws { throw XCTSkip("not on <this> machine") }

    /// Fails only on the first attempt; the file exists afterwards.
    func testIsFlaky() throws {
        guard let file = ProcessInfo.processInfo.environment["CI_SUITE_FLAKY"] else { return }
        guard !FileManager.default.fileExists(atPath: file) else { return }
        XCTAssertTrue(FileManager.default.createFile(atPath: file, contents: nil))
        let store = try openStore("flaky.sqlite")
        defer { sqlite3_close(store) }
        XCTFail("the first time")
    }
}

/// Ends its process.
final class CICrashTests: XCTestCase {
    func testCrashes() throws {
        let store = try openStore("crashes.sqlite")
        fatalError("no more \(store == nil ? "stores" : "of this")")
    }
}

@Suite struct CIModernTests {
    @Test func passes() {}

    @Test func fails() throws {
        let store = try openStore("new.sqlite")
        defer { sqlite3_close(store) }
        Issue.record("of <Swift> Testing")
    }

    @Test(arguments: ["ripe", "rotten"]) func isRipe(_ state: String) throws {
        let store = try openStore("\(state).sqlite")
        defer { sqlite3_close(store) }
        #expect(state == "ripe")
    }

    @Test(.disabled("not now")) func isDisabled() {}

    @Test func isKnown() { withKnownIssue { Issue.record("known") } }

    @Suite struct Inner {
        @Test func passes() {}
    }
}

import CSuiteSQLite
import Foundation
import Testing
import XCTest

/// Opens a store in a fresh directory, with one row.
private func openStore(_ name: String, fruit: String) throws -> OpaquePointer? {
    let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("suite-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    var handle: OpaquePointer?
    sqlite3_open(directory.appendingPathComponent(name).path, &handle)
    sqlite3_exec(
        handle, "CREATE TABLE fruit (name TEXT NOT NULL); INSERT INTO fruit VALUES ('\(fruit)')", nil,
        nil,
        nil)
    return handle
}

/// XCTest's tests, in the same module as tests of Swift Testing.
final class OldTests: XCTestCase {
    /// `old`: apple.
    func testFails() throws {
        let store = try openStore("old.sqlite", fruit: "apple")
        XCTFail("of XCTest")
        sqlite3_close(store)
    }

    func testPasses() {}
}

/// Tests of Swift Testing.
@Suite struct NewTests {
    /// `new`: pear.
    @Test func fails() throws {
        let store = try openStore("new.sqlite", fruit: "pear")
        Issue.record("of Swift Testing")
        sqlite3_close(store)
    }

    @Test func passes() {}
}

/// Another module has a suite of the same name.
@Suite struct TwinTests {
    @Test func fails() { Issue.record("in MixedSuite") }
}

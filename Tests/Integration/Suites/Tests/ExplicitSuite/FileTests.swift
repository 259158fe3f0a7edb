import CSuiteSQLite
import FailureArtifacts
import Foundation
import XCTest

/// Files that tests watch.
final class FileTests: XCTestCase {
    private var directory = URL(filePath: "/")

    override func setUpWithError() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "suite-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: directory.appending(path: "cache/images"), withIntermediateDirectories: true)
    }

    private func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: directory.appending(path: name))
    }

    /// One file of each kind of change, and a store whose transaction stays open.
    func testChangesFiles() throws {
        try write(
            "{\"theme\":\"dark\",\"retries\":3,\"name\":\"a name that makes the line longer than one hundred characters\",\"sound\":true}",
            to: "settings.json")
        try write("old\n", to: "old.txt")
        try write("same\n", to: "same.txt")
        try write("kept\n", to: "touched.txt")
        try write("first\nsecond\n", to: "cache/app.log")
        var handle: OpaquePointer?
        sqlite3_open(directory.appending(path: "own.sqlite").path, &handle)
        sqlite3_exec(handle, "CREATE TABLE fruit (name TEXT); BEGIN IMMEDIATE", nil, nil, nil)

        CurrentTest.watch(directory: directory, named: "app: data")
        try write(
            "{\"theme\":\"dark\",\"retries\":4,\"name\":\"a name that makes the line longer than one hundred characters\",\"sound\":true}",
            to: "settings.json")
        try FileManager.default.removeItem(at: directory.appending(path: "old.txt"))
        try write("kept\n", to: "touched.txt")
        try write("first\nsecond\nthird\n", to: "cache/app.log")
        try Data([0x89, 0, 1, 2]).write(to: directory.appending(path: "cache/images/a b.png"))
        sqlite3_exec(handle, "INSERT INTO fruit VALUES ('apple')", nil, nil, nil)

        XCTAssertEqual(4, 3, "the retries")

        // Of several failures, the first one counts.
        try write("later\n", to: "later.txt")
        XCTFail("again")
        // Reading the store's file must not have dropped SQLite's lock on it.
        XCTAssertTrue(isLocked(directory.appending(path: "own.sqlite").path), "the lock is gone")
        XCTAssertEqual(sqlite3_exec(handle, "COMMIT", nil, nil, nil), SQLITE_OK)
        sqlite3_close(handle)
    }

    /// True if another process can't begin a write transaction.
    private func isLocked(_ path: String) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["sqlite3", path, "BEGIN IMMEDIATE; ROLLBACK"]
        process.standardError = FileHandle.nullDevice
        try? process.run()
        process.waitUntilExit()
        return process.terminationStatus != 0
    }

    /// No file changes.
    func testChangesNothing() throws {
        try write("same\n", to: "same.txt")
        CurrentTest.watch(directory: directory, named: "nothing")
        CurrentTest.watch(directory: directory.appending(path: "none"))
        XCTFail("without changes")
    }

    /// A suite of UserDefaults, and a single file that didn't exist.
    func testChangesDefaults() throws {
        let suite = "suite-\(UUID().uuidString)"
        let defaults = try XCTUnwrap(UserDefaults(suiteName: suite))
        defer { defaults.removePersistentDomain(forName: suite) }
        defaults.set(true, forKey: "sound")
        defaults.set(["width": 300, "tabs": ["a", "b"]], forKey: "window")
        CurrentTest.watch(userDefaultsSuite: suite)
        CurrentTest.watch(directory: directory.appending(path: "state.plist"))
        defaults.set(["width": 640, "tabs": ["a"]], forKey: "window")
        let state = try PropertyListSerialization.data(
            fromPropertyList: ["level": 12], format: .binary, options: 0)
        try state.write(to: directory.appending(path: "state.plist"))
        let width = (defaults.dictionary(forKey: "window")?["width"] as? Int) ?? 0
        XCTAssertEqual(width, 300)
    }

    /// No bundle.
    func testChangesFilesAndPasses() throws {
        CurrentTest.watch(directory: directory)
        try write("new\n", to: "new.txt")
    }
}

import CSuiteSQLite
import FailureArtifacts
import Foundation
import XCTest

/// A fresh directory.
private func freshDirectory() throws -> URL {
    let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("suite-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    return directory
}

/// Opens a store with one row, and leaves it open.
private func open(_ url: URL, fruit: String) {
    var handle: OpaquePointer?
    XCTAssertEqual(sqlite3_open(url.path, &handle), SQLITE_OK)
    let sql = "CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('\(fruit)')"
    XCTAssertEqual(sqlite3_exec(handle, sql, nil, nil, nil), SQLITE_OK)
}

/// Stores that tests register.
final class RegistrationTests: XCTestCase {
    /// `registered`: apple, with the name `larder`; `other`: pear, found by discovery.
    func testRegistersOneOfTwo() throws {
        let directory = try freshDirectory()
        let registered = directory.appendingPathComponent("registered.sqlite")
        CurrentTest.register(storeAt: registered, named: "larder")
        open(registered, fruit: "apple")
        open(directory.appendingPathComponent("other.sqlite"), fruit: "pear")
        XCTFail("one of two is registered")
    }
}

/// Attached data and files.
final class AttachmentTests: XCTestCase {
    /// Three attachments; the file has its content at the failure time.
    func testAttaches() throws {
        try attach()
        XCTFail("with attachments")
    }

    /// No bundle.
    func testAttachesAndPasses() throws {
        try attach()
    }

    private func attach() throws {
        CurrentTest.attach(Data("{}".utf8), named: "request.json")
        CurrentTest.attach(Data("data".utf8), named: "../outside")
        let file = try freshDirectory().appendingPathComponent("log.txt")
        CurrentTest.attach(file)
        try Data("a file".utf8).write(to: file)
        open(try freshDirectory().appendingPathComponent("attached.sqlite"), fruit: "apple")
    }
}

/// The observer installed by hand, although linking the product has already installed it.
final class InstallationTests: XCTestCase {
    override class func setUp() {
        super.setUp()
        var configuration = CaptureConfiguration()
        guard configuration.mode != .off else { return }
        configuration.directory = URL(fileURLWithPath: "elsewhere", isDirectory: true)
        FailureObserver.install(configuration)
        FailureObserver.install(configuration)
    }

    /// `installed`: apple; one bundle, in the directory that the code sets.
    func testInstallsTwice() throws {
        open(try freshDirectory().appendingPathComponent("installed.sqlite"), fruit: "apple")
        XCTFail("installed by hand")
    }
}

/// The observer installed by hand during a test; the environment had turned it off.
final class LateInstallationTests: XCTestCase {
    private var earlier: OpaquePointer?

    override func setUp() {
        super.setUp()
        earlier = openStore("earlier", fruit: "kiwi")
        guard ProcessInfo.processInfo.environment["SUITE_INSTALLS"] != nil else { return }
        var configuration = CaptureConfiguration()
        configuration.mode = .firstFailure
        FailureObserver.install(configuration)
        FailureObserver.install(configuration)
    }

    override func tearDown() {
        XCTAssertEqual(sqlite3_close(earlier), SQLITE_OK)
        super.tearDown()
    }

    /// No bundle: the product is off when it starts.
    func testAFails() throws {
        let late = openStore("late", fruit: "apple")
        XCTAssertEqual(sqlite3_close(openStore("closed", fruit: "pear")), SQLITE_OK)
        XCTFail("installed in setUp")
        XCTFail("and once more")
        XCTAssertEqual(sqlite3_close(late), SQLITE_OK)
    }

    /// No bundle.
    func testBPasses() throws {
        XCTAssertEqual(sqlite3_close(openStore("passing", fruit: "plum")), SQLITE_OK)
    }

    /// `earlier`: kiwi; `next`: fig.
    func testCFails() throws {
        let next = openStore("next", fruit: "fig")
        XCTFail("started with an observer")
        XCTAssertEqual(sqlite3_close(next), SQLITE_OK)
    }

    /// `earlier`: kiwi.
    ///
    /// Another thread reports its failure.
    func testDFailsLater() async throws {
        await Task.yield()
        XCTFail("after a suspension")
    }

    private func openStore(_ name: String, fruit: String) -> OpaquePointer? {
        guard let directory = try? freshDirectory() else { return nil }
        var handle: OpaquePointer?
        let path = directory.appendingPathComponent("\(name).sqlite").path
        XCTAssertEqual(sqlite3_open(path, &handle), SQLITE_OK)
        let sql = "CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('\(fruit)')"
        XCTAssertEqual(sqlite3_exec(handle, sql, nil, nil, nil), SQLITE_OK)
        return handle
    }
}

import CSuiteSQLite
import FailureArtifacts
import Foundation
import XCTest

/// Stores that tests register.
final class RegistrationTests: XCTestCase {
    /// `registered`: apple, with the name `larder`; `other`: pear, found by discovery.
    func testRegistersOneOfTwo() throws {
        let registered = try freshPath("registered.sqlite")
        CurrentTest.register(storeAt: URL(fileURLWithPath: registered), named: "larder")
        _ = try openStore(registered, fruit: "apple")
        _ = try openStore(try freshPath("other.sqlite"), fruit: "pear")
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
        let file = URL(fileURLWithPath: try freshPath("log.txt"))
        CurrentTest.attach(file)
        try Data("a file".utf8).write(to: file)
        _ = try openStore(try freshPath("attached.sqlite"), fruit: "apple")
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
        _ = try openStore(try freshPath("installed.sqlite"), fruit: "apple")
        XCTFail("installed by hand")
    }
}

/// The observer installed by hand during a test; the environment had turned it off.
final class LateInstallationTests: XCTestCase {
    private var earlier: OpaquePointer?

    override func setUpWithError() throws {
        earlier = try openStore(freshPath("earlier.sqlite"), fruit: "kiwi")
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
        let late = try openStore(freshPath("late.sqlite"), fruit: "apple")
        XCTAssertEqual(
            try sqlite3_close(openStore(freshPath("closed.sqlite"), fruit: "pear")), SQLITE_OK)
        XCTFail("installed in setUp")
        XCTFail("and once more")
        XCTAssertEqual(sqlite3_close(late), SQLITE_OK)
    }

    /// No bundle.
    func testBPasses() throws {
        XCTAssertEqual(
            try sqlite3_close(openStore(freshPath("passing.sqlite"), fruit: "plum")), SQLITE_OK)
    }

    /// `earlier`: kiwi; `next`: fig.
    func testCFails() throws {
        let next = try openStore(freshPath("next.sqlite"), fruit: "fig")
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
}

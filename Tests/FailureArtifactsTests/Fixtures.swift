import FailureArtifactsBundle
import FailureArtifactsCapture
import FailureArtifactsTestStores
import FailureArtifactsTestSupport
import Foundation
import Testing
import XCTest

@testable import FailureArtifacts

/// A base class for tests that fail on purpose; they run in a `ChildTestRun` only.
class ChildTestCase: XCTestCase {
    override func invokeTest() {
        if ChildTestRun.isChild { super.invokeTest() }
    }
}

/// Opens a store in the temporary directory with one row for each name.
func openStore(_ name: String, _ rows: String...) throws -> ApplicationHandle {
    let file = FileManager.default.temporaryDirectory.appending(
        path: "\(name)-\(UUID().uuidString).sqlite")
    let store = try ApplicationHandle(file.path)
    CurrentTest.register(storeAt: file, named: name)
    try store.run("CREATE TABLE fruit (name TEXT)")
    for row in rows { try store.run("INSERT INTO fruit VALUES ('\(row)')") }
    return store
}

struct Rotten: Error, CustomStringConvertible {
    var description: String { "the fruit is rotten" }
}

final class OutcomeTests: ChildTestCase {
    func testFails() throws {
        let store = try openStore("larder", "apple")
        XCTAssertEqual(try store.texts("SELECT name FROM fruit"), ["pear"])
        try store.run("INSERT INTO fruit VALUES ('plum')")
    }

    func testFailsAndCrashes() throws {
        let store = try openStore("larder", "apple")
        XCTFail("before the crash")
        try store.run("INSERT INTO fruit VALUES ('plum')")
        kill(getpid(), SIGKILL)
    }

    func testPasses() throws {
        _ = try openStore("larder", "apple")
    }
}

/// Kills the process while a bundle can't be published, because the test itself has locked the directory.
final class UnpackedTests: ChildTestCase {
    func testFails() throws {
        _ = try openStore("larder", "apple")
        XCTFail("not packed")
        XCTAssertEqual(flock(open("failure-artifacts/.budget", O_RDWR), LOCK_EX), 0)
    }

    func testKillsTheProcess() { kill(getpid(), SIGKILL) }
}

final class SetUpTests: ChildTestCase {
    private var store: ApplicationHandle?

    override func setUpWithError() throws {
        store = try openStore("larder", "apple")
        throw Rotten()
    }

    func testDoesNotRun() { XCTFail("the test must not run") }
}

final class AsynchronousSetUpTests: ChildTestCase {
    private var store: ApplicationHandle?

    override func setUp() async throws {
        store = try openStore("larder", "apple")
        await Task.yield()
        XCTFail("in setUp")
    }

    func testRuns() throws { try store?.run("INSERT INTO fruit VALUES ('plum')") }
}

/// Fails outside of its tests.
final class ClassSetUpTests: ChildTestCase {
    override class func setUp() {
        super.setUp()
        if ChildTestRun.isChild { XCTFail("in the class's setUp") }
    }

    func testPasses() {}
}

/// Its stores change in a teardown block, and again in `tearDown()`.
final class TeardownBlockTests: ChildTestCase {
    nonisolated(unsafe) private var store: ApplicationHandle?

    override func tearDownWithError() throws { try store?.run("INSERT INTO fruit VALUES ('plum')") }

    func testPasses() throws {
        let store = try openStore("larder", "apple")
        self.store = store
        addTeardownBlock { try? store.run("INSERT INTO fruit VALUES ('pear')") }
    }
}

#if os(Linux)
final class EndingTests: ChildTestCase {
    override var continueAfterFailure: Bool {
        get { false }
        set {}
    }

    func testEndsTheProcess() throws {
        let store = try openStore("larder", "apple")
        XCTFail("the end")
        try store.run("INSERT INTO fruit VALUES ('plum')")
    }
}
#endif

/// Turns capturing off in a test's `setUp`.
final class TurnedOffTests: ChildTestCase {
    override func setUp() {
        super.setUp()
        var configuration = CaptureConfiguration()
        configuration.mode = .off
        FailureObserver.install(configuration)
    }

    func testFails() throws {
        _ = try openStore("larder", "apple")
        XCTFail("with capturing off")
    }
}

#if os(Linux)
/// Reports a failure of a test of Swift Testing as each framework does since Swift 6.4, whose XCTest and Swift Testing tell
/// each other of failures.
///
/// The events are synthetic, because 6.3 has no such reports.
final class InteroperabilityTests: ChildTestCase {
    func testFailureThatBothFrameworksReport() {
        let session = CaptureSession.shared
        let test = session.testWillStart(
            framework: "Swift Testing", suite: "LedgerTests", name: "split()", isAlone: false)
        RunningTest.$ofTask.withValue(test) {
            session.testDidFail(
                test, FailureEvent(message: "of XCTest", file: #filePath, line: 1, kind: .assertion))
            TestObservation().testCase(
                self, didFailWithDescription: "of XCTest", inFile: #filePath, atLine: 1)
        }
        session.testDidFinish(test)
    }
}
#endif

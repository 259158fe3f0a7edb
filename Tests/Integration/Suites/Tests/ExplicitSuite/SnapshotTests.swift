import FailureArtifacts
import Foundation
import XCTest

final class SnapshotCrashTests: XCTestCase {
    /// `snapshot`: apple, and after the snapshot `before` pear.
    func testIsKilled() throws {
        let path = try freshDirectory().appendingPathComponent("snapshot.sqlite").path
        let store = openStore(path, journal: "delete")
        add("apple", to: store)
        CurrentTest.snapshot("before")
        add("pear", to: store)
        kill(getpid(), SIGKILL)
    }
}

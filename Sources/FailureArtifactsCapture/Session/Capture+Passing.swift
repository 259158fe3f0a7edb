internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

// The bundle of a passing test.
extension Capture {
    /// True if the bundle belongs to a test that has not failed.
    var isOfPassingTest: Bool { outcome == .passed }

    /// Copies the stores as the test leaves them; returns true if the copies are kept.
    ///
    /// If they would exceed the maximum total size, in bytes, none are kept. Call it on the test's thread.
    mutating func stagePassing(maximumBytes: UInt64) -> Bool {
        let earlierLimitsHit = problems.limitsHit
        outcome = .passed
        problems.limitsHit = []
        add { capture in
            let start = capture.problems.warnings.count
            // Only these copies are limited: a later failure may use all the remaining room.
            capture.room.maximum = maximumBytes
            capture.stageStores(after: nil)
            capture.room.maximum = .max
            capture.problems.ofPassing = start..<capture.problems.warnings.count
        }
        let isWhole = problems.limitsHit.isDisjoint(with: DirectoryLimits.Limit.ofRoom.map(\.rawValue))
        problems.limitsHit = isWhole ? problems.limitsHit.union(earlierLimitsHit) : earlierLimitsHit
        if !isWhole { withdrawPassing() }
        return isWhole
    }

    /// Removes the copies of a passing test, because the test failed after all or there is no room for them.
    mutating func withdrawPassing() {
        for folder in ["stores", "history", "statements", "raw"] {
            try? FileSystem.remove(staging.file(ofEntry: folder))
        }
        let left = FileSystem.size(ofAllBelow: staging.path)
        outcome = .failed
        stores = []
        let said = problems.ofPassing.clamped(to: 0..<problems.said)
        problems.said -= said.count
        problems.warnings.removeSubrange(problems.ofPassing)
        problems.ofPassing = 0..<0
        room.giveBack(room.used.saturatingSubtract(left))
    }
}

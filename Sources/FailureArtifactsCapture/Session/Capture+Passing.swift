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
        let earlierLimitsHit = limitsHit
        outcome = .passed
        limitsHit = []
        add { capture in
            let start = capture.warnings.count
            // Only these copies are limited: a later failure may use all the remaining room.
            capture.room.maximum = maximumBytes
            capture.stageStores(after: nil)
            capture.room.maximum = .max
            capture.passingWarnings = start..<capture.warnings.count
        }
        let isWhole = limitsHit.isDisjoint(with: DirectoryLimits.Limit.ofRoom.map(\.rawValue))
        limitsHit = isWhole ? limitsHit.union(earlierLimitsHit) : earlierLimitsHit
        if !isWhole { withdrawPassing() }
        return isWhole
    }

    /// Removes the copies of a passing test, because the test failed after all or there is no room for them.
    mutating func withdrawPassing() {
        for folder in ["stores", "history", "statements", "raw", "snapshots/\(RunningTest.startLabel)"] {
            try? FileSystem.remove(staging.file(ofEntry: folder))
        }
        let left = FileSystem.size(ofAllBelow: staging.path)
        outcome = .failed
        stores = []
        snapshots.removeAll { $0.label == RunningTest.startLabel }
        let said = passingWarnings.clamped(to: 0..<saidWarnings)
        saidWarnings -= said.count
        warnings.removeSubrange(passingWarnings)
        passingWarnings = 0..<0
        room.giveBack(room.used.saturatingSubtract(left))
    }
}

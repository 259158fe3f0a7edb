internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

// The bundle of a passing test.
extension Capture {
    /// True if the bundle belongs to a test that has not failed.
    var isOfPassingTest: Bool { state.withLock { $0.outcome == .passed } }

    /// Copies the stores as the test leaves them.
    ///
    /// Call it on the test's thread.
    ///
    /// - Parameter maximumBytes: The maximum total size of the copies, in bytes. If they would exceed it, none are
    ///   kept.
    /// - Returns: True if the copies are kept.
    func stagePassing(maximumBytes: UInt64) -> Bool {
        let limitsHit = state.withLock { state in
            defer {
                state.outcome = .passed
                state.limitsHit = []
            }
            return state.limitsHit
        }
        add {
            let start = state.withLock(\.warnings.count)
            // Only these copies are limited: a later failure may use all the remaining room.
            room.limited(to: maximumBytes) { stageStores(after: nil) }
            state.withLock { $0.passingWarnings = start..<$0.warnings.count }
        }
        let isWhole = state.withLock { state in
            let isWhole = state.limitsHit.isDisjoint(with: DirectoryLimits.Limit.ofRoom.map(\.rawValue))
            state.limitsHit = isWhole ? state.limitsHit.union(limitsHit) : limitsHit
            return isWhole
        }
        if !isWhole { withdrawPassing() }
        return isWhole
    }

    /// Removes the copies of a passing test, because the test failed after all or there is no room for them.
    func withdrawPassing() {
        for folder in ["stores", "history", "statements", "raw", "snapshots/\(RunningTest.startLabel)"] {
            try? FileSystem.remove(staging.file(ofEntry: folder))
        }
        let left = FileSystem.size(ofAllBelow: staging.path)
        state.withLock { state in
            state.outcome = .failed
            state.stores = []
            state.snapshots.removeAll { $0.label == RunningTest.startLabel }
            let said = state.passingWarnings.clamped(to: 0..<state.saidWarnings)
            state.saidWarnings -= said.count
            state.warnings.removeSubrange(state.passingWarnings)
            state.passingWarnings = 0..<0
        }
        room.giveBack(room.used.saturatingSubtract(left))
    }
}

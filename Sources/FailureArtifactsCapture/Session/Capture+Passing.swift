internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

// The bundle of a test that passes.
extension Capture {
    /// Whether the bundle is one of a test that has not failed.
    var isOfPassingTest: Bool { state.withLock { $0.outcome == .passed } }

    /// Copies the stores as the test leaves them; to be called on its thread.
    ///
    /// - Parameter maximumBytes: What the bundle may take. Where a copy would exceed it there are none.
    /// - Returns: Whether there are.
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
            // A failure that is yet to come may take all that is left.
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

    /// Removes these copies: the test has failed after all, or there is no room for them.
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

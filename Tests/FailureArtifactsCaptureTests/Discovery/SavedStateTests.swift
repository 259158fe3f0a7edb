import Foundation
import Testing

@testable import FailureArtifactsCapture

/// The saved state of connections, within its limit.
@Suite struct SavedStateTests {
    private func saved(_ size: Int = 8) -> SavedState {
        SavedState(
            reason: .end, schema: "main", path: nil, bytes: malloc(size), size: size, order: 0)
    }

    @Test func statesOfAnEndedTestAreDroppedAndOthersStay() {
        var savedStates = SavedStates()
        let (ended, running) = (saved(), saved())
        savedStates.add(ended, of: 1)
        savedStates.add(running, of: 2)
        #expect(savedStates.take(of: 1).first === ended && savedStates.take(of: 2).first === running)
        savedStates.forget([ended])
        #expect(!ended.isThere && running.isThere)
        // Removing a saved state that is gone already has no effect.
        savedStates.forget([ended])
    }

    @Test func whatIsForgottenTakesNoRoom() {
        var savedStates = SavedStates()
        let first = saved()
        savedStates.add(first, of: 1)
        for serial in 2..<UInt64(3 * SavedStates.maximumCount) {
            let next = saved()
            savedStates.add(next, of: serial)
            savedStates.forget(savedStates.take(of: serial))
        }
        #expect(first.isThere)
        for serial in 1000..<UInt64(1001 + SavedStates.maximumCount) {
            savedStates.add(saved(), of: serial)
        }
        #expect(!first.isThere)
    }
}

import Foundation
import Testing

@testable import FailureArtifactsCapture

/// The saved state of connections, within its limit.
@Suite struct SavedStateTests {
    private func image(_ size: Int = 8) -> SavedState {
        SavedState(
            reason: .end, schema: "main", path: nil, bytes: malloc(size), size: size, order: 0)
    }

    @Test func imagesOfAnEndedTestAreDroppedAndOthersStay() {
        var images = SavedStates()
        let (ended, running) = (image(), image())
        images.add(ended, of: 1)
        images.add(running, of: 2)
        #expect(images.take(of: 1).first === ended && images.take(of: 2).first === running)
        images.forget([ended])
        #expect(!ended.isThere && running.isThere)
        // Removing an image that is gone already has no effect.
        images.forget([ended])
    }

    @Test func whatIsForgottenTakesNoRoom() {
        var images = SavedStates()
        let first = image()
        images.add(first, of: 1)
        for serial in 2..<UInt64(3 * SavedStates.maximumCount) {
            let next = image()
            images.add(next, of: serial)
            images.forget(images.take(of: serial))
        }
        #expect(first.isThere)
        for serial in 1000..<UInt64(1001 + SavedStates.maximumCount) { images.add(image(), of: serial) }
        #expect(!first.isThere)
    }
}

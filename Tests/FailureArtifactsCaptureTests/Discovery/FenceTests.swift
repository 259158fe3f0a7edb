#if os(Linux)
import CFailureArtifactsCapture
import Foundation
import Synchronization
import Testing

/// The barrier between a statement of the application and a capture; the capture pays for both sides.
@Suite struct FenceTests {
    /// A number in a cache line of its own: two numbers in one line can't be seen out of order.
    private struct Cell: ~Copyable {
        let before = InlineArray<16, Int>(repeating: 0)
        let number = Atomic(0)
        let after = InlineArray<16, Int>(repeating: 0)
    }

    private final class Shared: Sendable {
        let started = Cell(), finished = Cell(), seen = Cell()
        let frequent = Cell(), rare = Cell()
    }

    /// Each thread writes its own number and reads the other's: at least one must see the other's write.
    @Test func ofTwoThreadsOneSeesTheOther() throws {
        failure_artifacts_fence_prepare()
        try #require(failure_artifacts_has_heavy_fence())
        let shared = Shared()
        let count = 20_000
        Thread.detachNewThread {
            for round in 1...count {
                while shared.started.number.load(ordering: .acquiring) < round { sched_yield() }
                shared.frequent.number.store(round, ordering: .relaxed)
                failure_artifacts_light_fence()
                let seen = shared.rare.number.load(ordering: .relaxed)
                shared.seen.number.store(seen, ordering: .relaxed)
                shared.finished.number.store(round, ordering: .releasing)
            }
        }
        var missed = 0
        for round in 1...count {
            shared.started.number.store(round, ordering: .releasing)
            // The other thread starts at about this time, a little sooner or later.
            var delay = round % 200
            while delay > 0 { delay -= 1 }
            shared.rare.number.store(round, ordering: .relaxed)
            let isDone = failure_artifacts_heavy_fence()
            let seen = shared.frequent.number.load(ordering: .relaxed)
            while shared.finished.number.load(ordering: .acquiring) < round { sched_yield() }
            #expect(isDone)
            if seen < round && shared.seen.number.load(ordering: .relaxed) < round { missed += 1 }
        }
        #expect(missed == 0)
    }
}
#endif

internal import CFailureArtifactsShared

/// Converts ticks, the times in the flight recorder, to wall-clock time.
///
/// The length of a tick follows from two points in time that are known on both clocks.
package struct RecorderClock: Sendable {
    private let last: (ticks: UInt64, wall: Int64)
    /// The length of a tick, in nanoseconds.
    private let length: Double

    package static var current: RecorderClock {
        var first = failure_artifacts_clock_pair()
        var now = failure_artifacts_clock_pair()
        failure_artifacts_recorder_clocks(&first, &now)
        return RecorderClock(first: (first.ticks, first.wall), last: (now.ticks, now.wall))
    }

    /// Creates a clock from two points in time, in ticks and in nanoseconds since 1970.
    init(first: (ticks: UInt64, wall: Int64), last: (ticks: UInt64, wall: Int64)) {
        self.last = last
        let ticks = last.ticks > first.ticks ? last.ticks - first.ticks : 0
        length = ticks > 0 ? max(0, Double(last.wall) - Double(first.wall)) / Double(ticks) : 0
    }

    /// Returns a point in time, in nanoseconds since 1970.
    func nanoseconds(at ticks: UInt64) -> Int64 {
        let isBefore = ticks < last.ticks
        let distance = Double(isBefore ? last.ticks - ticks : ticks - last.ticks) * length
        // An untrusted file may contain any number.
        guard distance < 0x1p62 else { return last.wall }
        return isBefore ? last.wall &- Int64(distance) : last.wall &+ Int64(distance)
    }

    /// Returns the time between two points, in seconds with nanoseconds.
    func seconds(from start: UInt64, to end: UInt64) -> Double? {
        end >= start ? (Double(end - start) * length).rounded() / 1_000_000_000 : nil
    }
}

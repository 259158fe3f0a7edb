/// A point in time on a monotonic clock, for durations and time limits.
package struct Instant: Comparable, Sendable {
    /// Nanoseconds since a fixed point in time, such as the machine's start.
    package let nanoseconds: UInt64

    package init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    package static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
    }

    package static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The point in time `seconds` later, at most about 30 years.
    package func advanced(bySeconds seconds: Double) -> Instant {
        Instant(nanoseconds: nanoseconds &+ UInt64(min(max(0, seconds), 1e9) * 1_000_000_000))
    }

    /// The seconds until a later point in time; 0 if `other` is earlier.
    package func seconds(until other: Instant) -> Double {
        other < self ? 0 : Double(other.nanoseconds - nanoseconds) / 1_000_000_000
    }

    /// The seconds from this point in time until now.
    package var elapsed: Double {
        seconds(until: .now)
    }
}

/// Suspends this thread for less than one million microseconds.
package func sleep(microseconds: UInt32) {
    usleep(microseconds)
}

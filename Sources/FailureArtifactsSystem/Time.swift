/// A point in time by the calendar, in UTC.
package struct Timestamp: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Seconds since 1970-01-01T00:00:00Z.
    package let seconds: Int64
    /// Thousandths of a second, 0 to 999.
    package let milliseconds: Int32

    package init(seconds: Int64, milliseconds: Int32 = 0) {
        self.seconds = seconds
        self.milliseconds = milliseconds
    }

    package static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(seconds: Int64(time.tv_sec), milliseconds: Int32(time.tv_nsec / 1_000_000))
    }

    /// Nanoseconds since 1970, to the millisecond.
    package var nanoseconds: Int64 { seconds * 1_000_000_000 + Int64(milliseconds) * 1_000_000 }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.seconds, left.milliseconds) < (right.seconds, right.milliseconds)
    }

    /// The date and time of day.
    private var calendar: (year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        return (
            Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday), Int(parts.tm_hour),
            Int(parts.tm_min), Int(parts.tm_sec)
        )
    }

    /// ISO 8601 with milliseconds: `2026-11-21T07:08:09.123Z`.
    package var description: String {
        let parts = calendar
        func pad(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return pad(parts.year, 4) + "-" + pad(parts.month, 2) + "-" + pad(parts.day, 2) + "T"
            + pad(parts.hour, 2) + ":" + pad(parts.minute, 2) + ":" + pad(parts.second, 2) + "."
            + pad(Int(milliseconds), 3) + "Z"
    }
}

/// A point on the clock that never goes backwards, to measure durations and keep time limits.
package struct Instant: Comparable, Sendable {
    /// Nanoseconds since some fixed moment, such as the start of the machine.
    package let nanoseconds: UInt64

    package init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    /// How long this process's threads have been running on the processors: a clock of its own, not to be
    /// compared with ``now``.
    package static var processorTime: Instant {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Instant(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
    }

    package static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
    }

    package static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The moment `seconds` after this one.
    package func advanced(bySeconds seconds: Double) -> Instant {
        Instant(nanoseconds: nanoseconds &+ UInt64(max(0, seconds) * 1_000_000_000))
    }

    /// Seconds from this moment to a later one; 0 for an earlier one.
    package func seconds(until other: Instant) -> Double {
        other < self ? 0 : Double(other.nanoseconds - nanoseconds) / 1_000_000_000
    }

    /// Seconds from this moment until now.
    package var elapsed: Double {
        seconds(until: .now)
    }
}

/// Has this thread wait.
///
/// - Parameter microseconds: For how long, less than one million.
package func sleep(microseconds: UInt32) {
    usleep(microseconds)
}

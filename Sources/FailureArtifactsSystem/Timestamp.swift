/// A point in calendar time, in UTC.
package struct Timestamp: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Seconds since 1970-01-01T00:00:00Z.
    package let seconds: Int64
    /// The milliseconds within the second, 0 to 999.
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

    /// Nanoseconds since 1970, with a precision of one millisecond.
    package var nanoseconds: Int64 { Self.nanoseconds(seconds, Int64(milliseconds) * 1_000_000) }

    /// Returns the nanoseconds since 1970; a time before 1970 or after 2262 is cut.
    static func nanoseconds(_ seconds: Int64, _ rest: Int64) -> Int64 {
        min(max(seconds, 0), Int64.max / 1_000_000_000 - 1) * 1_000_000_000 + rest
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.seconds, left.milliseconds) < (right.seconds, right.milliseconds)
    }

    package var calendar: (year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        return (
            Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday), Int(parts.tm_hour),
            Int(parts.tm_min), Int(parts.tm_sec)
        )
    }

    /// The ISO 8601 form with milliseconds: `2026-11-21T07:08:09.123Z`.
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

    /// Formats a time in nanoseconds since 1970 as ISO 8601 with microseconds: `2026-11-21T07:08:09.123456Z`.
    package static func description(ofNanoseconds nanoseconds: Int64) -> String {
        let second: Int64 = 1_000_000_000
        let seconds = nanoseconds / second - (nanoseconds % second < 0 ? 1 : 0)
        let microseconds = (nanoseconds - seconds * second) / 1000
        let whole = Timestamp(seconds: seconds, milliseconds: Int32(microseconds / 1000)).description
        let rest = String(1000 + microseconds % 1000).dropFirst()
        return whole.dropLast() + rest + "Z"
    }
}

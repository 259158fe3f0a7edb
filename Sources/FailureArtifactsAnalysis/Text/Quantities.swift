package enum DurationText {
    /// The maximum duration, in seconds: one year.
    private static let limit = 366.0 * 86_400

    /// Parses durations such as `90`, `90s`, `10m`, `1h30m` and `1.5h`: larger units come first, and a number without a
    /// unit is in seconds; nil for other text.
    package static func seconds(_ text: String) -> Double? {
        if let seconds = number(text[...]) { return checked(seconds) }
        var rest = text[...]
        var total = 0.0
        for (unit, seconds) in [("h", 3600.0), ("m", 60.0), ("s", 1.0)] {
            guard let end = rest.firstRange(of: unit) else { continue }
            guard let count = number(rest[..<end.lowerBound]) else { return nil }
            total += count * seconds
            rest = rest[end.upperBound...]
        }
        return rest.isEmpty ? checked(total) : nil
    }

    /// Parses ages such as `90m`, `12h`, `3d` and `1.5d`; nil for other text, such as an ambiguous `90`.
    package static func age(_ text: String) -> Double? {
        if text.hasSuffix("d") { return seconds(text.dropLast() + "h").map { $0 * 24 } }
        return text.last?.isLetter == true ? seconds(text) : nil
    }

    /// Returns `1h30m` for 5,400 seconds.
    package static func text(_ seconds: Double) -> String {
        let whole = Int(min(max(seconds, 0), limit))
        let rest = seconds - Double(whole / 60 * 60)
        var text = ""
        if whole >= 3600 { text += "\(whole / 3600)h" }
        if whole / 60 % 60 > 0 { text += "\(whole / 60 % 60)m" }
        if rest > 0 || text.isEmpty {
            text += (rest == rest.rounded() ? "\(Int(rest))" : "\(rest)") + "s"
        }
        return text
    }

    /// Returns a short duration such as `850 µs`, `4 ms` or `1.25 s`; nil for a negative duration and for more than
    /// eleven days, which only damaged data has.
    package static func short(_ seconds: Double) -> String? {
        guard (0..<1e6).contains(seconds) else { return nil }
        let microseconds = (seconds * 1e6).rounded()
        if microseconds < 1000 { return "\(Int(microseconds)) µs" }
        let milliseconds = (seconds * 1000).rounded()
        if milliseconds < 1000 { return "\(Int(milliseconds)) ms" }
        let hundredths = Int((seconds * 100).rounded())
        return hundredths % 100 == 0 ? "\(hundredths / 100) s" : "\(Double(hundredths) / 100) s"
    }

    private static func checked(_ seconds: Double) -> Double? {
        seconds > 0 && seconds <= limit ? seconds : nil
    }

    /// Parses digits with at most one decimal point; other formats that `Double` accepts are rejected.
    private static func number(_ text: Substring) -> Double? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
        else {
            return nil
        }
        return Double(text)
    }
}

/// Formats numbers with units.
package enum Counted {
    /// Returns text such as `512 B`, `16 KB` or `1.5 MB`; units are multiples of 1,024, as in `ls -h`.
    package static func bytes(_ count: UInt64) -> String {
        let units = ["B", "KB", "MB", "GB", "TB", "PB", "EB"]
        var value = Double(count)
        var unit = 0
        while value >= 1023.5, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        guard unit > 0, value < 9.95 else { return "\(Int(value.rounded())) \(units[unit])" }
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0
            ? "\(tenths / 10) \(units[unit])" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    package static func items(_ count: Int64, _ singular: String, _ plural: String? = nil) -> String {
        "\(count) \(count == 1 ? singular : plural ?? singular + "s")"
    }

    /// Returns a number in the form `1,234,567`.
    package static func number(_ number: Int64) -> String {
        let digits = Array(String(number.magnitude))
        var result = number < 0 ? "−" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { result.append(",") }
            result.append(digit)
        }
        return result
    }
}

package enum MetadataTime {
    /// The seconds from 1970 to 2001, from which Foundation and Core Data count.
    static let referenceDate = 978_307_200

    /// Returns the milliseconds since 1970 of a time such as `2026-11-21T07:08:09.123Z`; nil for other formats.
    package static func milliseconds(of text: String) -> Int64? {
        microseconds(of: text).map { $0 / 1000 }
    }

    /// Returns the time of day, such as `07:08:09.123456` for `2026-11-21T07:08:09.123456Z`.
    package static func timeOfDay(_ text: String) -> String {
        guard let start = text.firstIndex(of: "T") else { return text }
        return String(text[text.index(after: start)...].prefix { $0 != "Z" })
    }

    /// Returns text such as `2026-11-21 07:08:09.123 UTC`; the unchanged time if it has another format.
    package static func text(_ time: String) -> String {
        guard microseconds(of: time) != nil else { return time }
        return time.dropLast().replacing("T", with: " ") + " UTC"
    }

    /// Returns the microseconds since 1970 of a time with any number of decimals; nil for other formats.
    package static func microseconds(of text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 40, bytes.last == 0x5A,
            [4, 7, 10, 13, 16].map({ bytes[$0] }) == Array("--T::".utf8),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
            let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]),
            let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            (1...12).contains(month)
        else { return nil }
        var millionths: Int64 = 0
        if bytes[19] == 0x2E {
            let zeros = [UInt8](repeating: 0x30, count: 6)
            guard let number = number((bytes[20..<(bytes.count - 1)] + zeros).prefix(6)) else {
                return nil
            }
            millionths = number
        }
        // Converts a civil date to days (https://howardhinnant.github.io/date_algorithms.html).
        let y = month <= 2 ? year - 1 : year
        let era = y / 400
        let yearOfEra = y - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + millionths
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        var result: Int64 = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            result = result * 10 + Int64(digit - 0x30)
        }
        return result
    }
}

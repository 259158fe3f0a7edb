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

/// Durations as they are written on the command line.
package enum DurationText {
    /// The longest, in seconds: a year.
    private static let limit = 366.0 * 86_400

    /// Reads `90`, `90s`, `10m`, `1h30m`, `1.5h`.
    ///
    /// - Parameter text: Numbers with the units `h`, `m`, `s`, the larger unit first; a number alone is seconds.
    /// - Returns: Seconds, more than 0; nil for anything else.
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

    /// Reads how old something is: `90m`, `12h`, `3d`, `1.5d`; with its unit, which `90` may have any.
    ///
    /// - Parameter text: Days, or a duration as above.
    /// - Returns: Seconds, more than 0; nil for anything else.
    package static func age(_ text: String) -> Double? {
        if text.hasSuffix("d") { return seconds(text.dropLast() + "h").map { $0 * 24 } }
        return text.last?.isLetter == true ? seconds(text) : nil
    }

    /// `1h30m` for 5,400 seconds.
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

    private static func checked(_ seconds: Double) -> Double? {
        seconds > 0 && seconds <= limit ? seconds : nil
    }

    /// Digits with at most one point between them; more than `Double` reads is no number here.
    private static func number(_ text: Substring) -> Double? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
        else {
            return nil
        }
        return Double(text)
    }
}

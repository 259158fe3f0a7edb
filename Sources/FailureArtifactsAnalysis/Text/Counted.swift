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

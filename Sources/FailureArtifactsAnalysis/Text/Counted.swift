/// Numbers for people.
package enum Counted {
    /// `512 B`, `16 KB`, `1.5 MB`: in steps of 1,024, as `ls -h` has them.
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

    /// `1 row`, `2 rows`.
    package static func items(_ count: Int64, _ singular: String, _ plural: String? = nil) -> String {
        "\(count) \(count == 1 ? singular : plural ?? singular + "s")"
    }
}

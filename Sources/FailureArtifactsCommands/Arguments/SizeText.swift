/// Sizes as they are written on the command line.
enum SizeText {
    /// Reads `500000000`, `64KB`, `500 MB`, `1.5GB`, `2G`, `2GiB`.
    ///
    /// - Parameter text: A number with one of the units `B`, `KB`, `MB`, `GB` and `TB`, also `K` or `KiB`; a number
    ///   alone is bytes. Units are in steps of 1,024, as ``Counted/bytes(_:)`` has them.
    /// - Returns: Bytes; nil for anything else, and for more than 64 bits hold.
    static func bytes(_ text: String) -> UInt64? {
        let isOfNumber: (Character) -> Bool = { ("0"..."9").contains($0) || $0 == "." }
        let digits = text.prefix(while: isOfNumber)
        var unit = text.dropFirst(digits.count)[...]
        if unit.first == " " { unit.removeFirst() }
        guard let exponent = exponent(of: unit.uppercased()) else { return nil }
        if !digits.contains("."), let whole = UInt64(digits) {
            let (bytes, overflow) = whole.multipliedReportingOverflow(by: 1 << (10 * exponent))
            return overflow ? nil : bytes
        }
        // A part of a byte is none.
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        guard exponent > 0, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }),
            let number = Double(digits)
        else { return nil }
        return UInt64(exactly: (number * Double(UInt64(1) << (10 * exponent))).rounded())
    }

    private static func exponent(of unit: String) -> UInt64? {
        if ["", "B"].contains(unit) { return 0 }
        for (index, prefix) in ["K", "M", "G", "T"].enumerated()
        where [prefix, prefix + "B", prefix + "IB"].contains(unit) {
            return UInt64(index + 1)
        }
        return nil
    }
}

/// Times of metadata, as numbers.
package enum ReportTime {
    /// Milliseconds since 1970 of `2026-11-21T07:08:09.123Z`; nil for any other form.
    package static func milliseconds(of text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 40, bytes[4] == 0x2D, bytes[7] == 0x2D,
            bytes[10] == 0x54,
            bytes[13] == 0x3A, bytes[16] == 0x3A, bytes.last == 0x5A,
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
            let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]),
            let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            (1...12).contains(month)
        else { return nil }
        var thousandths: Int64 = 0
        if bytes[19] == 0x2E {
            let digits = Array((bytes[20..<(bytes.count - 1)] + [0x30, 0x30, 0x30]).prefix(3))
            guard let number = number(digits[...]) else { return nil }
            thousandths = number
        }
        // Days from the civil calendar (https://howardhinnant.github.io/date_algorithms.html).
        let y = month <= 2 ? year - 1 : year
        let era = y / 400
        let yearOfEra = y - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        return ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + thousandths
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

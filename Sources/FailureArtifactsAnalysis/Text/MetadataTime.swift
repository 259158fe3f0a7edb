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

package import FailureArtifactsSystem

/// The date and time of an entry in MS-DOS form (APPNOTE 4.4.6): 1980 to 2107, in steps of two seconds.
///
/// The format doesn't define the time zone. The product writes and reads UTC.
package struct DOSTime: Equatable {
    /// Bits 0–4: seconds divided by two; bits 5–10: minutes; bits 11–15: hours.
    package let time: UInt16
    /// Bits 0–4: day from 1; bits 5–8: month from 1; bits 9–15: years since 1980.
    package let date: UInt16

    package init(time: UInt16, date: UInt16) {
        self.time = time
        self.date = date
    }

    /// Rounds a point in time down to a representable one.
    ///
    /// Times before 1980 become the first one.
    package init(_ timestamp: Timestamp) {
        // 1980-01-01T00:00:00Z and 2107-12-31T23:59:58Z.
        let seconds = min(max(timestamp.seconds, 315_532_800), 4_354_819_198)
        let days = seconds / 86_400
        let clock = seconds % 86_400
        time = UInt16((clock / 3_600) << 11 | (clock / 60 % 60) << 5 | (clock % 60) / 2)

        // Count years from 1 March, so that the leap day is the last day of a year. This is valid for 1980 to
        // 2107, when only 2100 breaks the rule of a leap year every four years.
        let sinceMarch1900 = days + 25_508 + (days >= 47_541 ? 1 : 0)
        let year = (4 * sinceMarch1900 + 3) / 1_461
        let dayOfYear = sinceMarch1900 - year * 1_461 / 4
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let calendarYear = 1900 + year + (month >= 10 ? 1 : 0)
        let calendarMonth = month >= 10 ? month - 9 : month + 3
        date = UInt16((calendarYear - 1980) << 9 | calendarMonth << 5 | day)
    }
}

package enum ValueText {
    /// Returns a number as in SQLite's shell; infinities are `Inf` or `-Inf`.
    package static func real(_ number: Double) -> String {
        number.isFinite ? number.description : (number < 0 ? "-Inf" : "Inf")
    }

    package static func plain(_ number: Double) -> String {
        let text = real(number)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}

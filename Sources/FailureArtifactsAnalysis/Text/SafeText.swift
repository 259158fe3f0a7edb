/// Text from a bundle, for a terminal.
///
/// What a test recorded may hold control sequences, by accident or not; a terminal would obey them.
package enum SafeText {
    /// `text` on one line: line ends and tabs become a space, other control characters `\u{…}`.
    package static func line(_ text: String) -> String {
        guard needsWork(text) else { return text }
        var result = ""
        var wasSpace = false
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n", "\r", "\t":
                if !wasSpace { result += " " }
                wasSpace = true
                continue
            default:
                append(scalar, to: &result)
            }
            wasSpace = scalar == " "
        }
        return result
    }

    /// `text` with its lines; control characters other than line ends become `\u{…}`, and a tab two spaces.
    package static func lines(_ text: String) -> [String] {
        text.split(omittingEmptySubsequences: false) { $0.isNewline }.map { line in
            guard needsWork(String(line)) else { return String(line) }
            var result = ""
            for scalar in line.unicodeScalars {
                if scalar == "\t" {
                    result += "  "
                } else {
                    append(scalar, to: &result)
                }
            }
            return result
        }
    }

    /// `text` as a cell of a table: nothing in it is lost, a line end is `\n`.
    package static func cell(_ text: String) -> String {
        guard needsWork(text) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            default: append(scalar, to: &result)
            }
        }
        return result
    }

    private static func append(_ scalar: Unicode.Scalar, to result: inout String) {
        if isControl(scalar) {
            result += "\\u{" + String(scalar.value, radix: 16) + "}"
        } else {
            result.unicodeScalars.append(scalar)
        }
    }

    private static func needsWork(_ text: String) -> Bool {
        text.unicodeScalars.contains(where: isControl)
    }

    /// Control characters, and those that turn the direction of what follows.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

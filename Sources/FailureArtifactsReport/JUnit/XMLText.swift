/// Text in XML 1.0.
///
/// Characters that XML [does not have](https://www.w3.org/TR/xml/#charsets), even as references, become `\u{…}`.
enum XMLText {
    /// Between two tags.
    static func content(_ text: String) -> String { escaped(text, inAttribute: false) }

    /// Between the quotes of an attribute, where a reader would make a space of a line end.
    static func attribute(_ text: String) -> String { escaped(text, inAttribute: true) }

    private static func escaped(_ text: String, inAttribute: Bool) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            // Of use in `]]>` only.
            case ">": result += "&gt;"
            case "\"": result += inAttribute ? "&quot;" : "\""
            case "\t", "\n":
                if inAttribute {
                    result += "&#\(scalar.value);"
                } else {
                    result.unicodeScalars.append(scalar)
                }
            // Read literally it would become a line feed.
            case "\r": result += "&#13;"
            default:
                if isAllowed(scalar) {
                    result.unicodeScalars.append(scalar)
                } else {
                    result += "\\u{" + String(scalar.value, radix: 16) + "}"
                }
            }
        }
        return result
    }

    /// Beyond the three above; surrogates are no scalars.
    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0xFFFE, 0xFFFF: false
        default: true
        }
    }
}

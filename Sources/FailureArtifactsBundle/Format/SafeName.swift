/// Names that every file system, shell and artifact upload accepts.
///
/// Replaced are the characters that NTFS forbids (`" * : < > ? | \ /`), that GitHub's upload-artifact refuses (the
/// same, CR and LF), and that a shell would interpret. Letters, marks and digits of every script stay.
package enum SafeName {
    /// Makes a name of at least one character that is safe as part of a file name.
    ///
    /// The first character is neither a dot nor a hyphen. The maximum is in bytes of UTF-8; a name is cut between
    /// characters.
    package static func make(from text: String, maximumBytes: Int) -> String {
        var result = ""
        var wasReplaced = false
        for scalar in text.unicodeScalars {
            if isKept(scalar) {
                result.unicodeScalars.append(scalar)
                wasReplaced = false
            } else if !wasReplaced {
                // A run of replaced characters becomes one underscore.
                result.unicodeScalars.append("_")
                wasReplaced = true
            }
        }
        if result.unicodeScalars.first.map({ $0 == "." || $0 == "-" }) ?? true { result = "_" + result }
        result = cut(result, toBytes: maximumBytes)
        // Windows drops dots at the end of a name.
        while result.hasSuffix(".") { result = String(result.dropLast()) + "_" }
        return isReservedByWindows(result) ? "_" + result : result
    }

    private static func isKept(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII {
            return "._-".unicodeScalars.contains(scalar) || ("0"..."9").contains(scalar)
                || ("A"..."Z").contains(scalar) || ("a"..."z").contains(scalar)
        }
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
            .nonspacingMark, .spacingMark, .decimalNumber, .letterNumber:
            return true
        default:
            return false
        }
    }

    /// Cuts a text between characters; a character with many marks is cut, too.
    package static func cut(_ text: String, toBytes maximum: Int) -> String {
        guard text.utf8.count > maximum else { return text }
        var result = ""
        var count = 0
        for character in text {
            count += character.utf8.count
            if count > maximum { break }
            result.append(character)
        }
        return result.isEmpty ? String(text.unicodeScalars.prefix(maximum / 4)) : result
    }

    private static func isReservedByWindows(_ name: String) -> Bool {
        let stem = name.prefix { $0 != "." }.lowercased()
        if ["con", "prn", "aux", "nul"].contains(stem) { return true }
        return stem.count == 4 && (stem.hasPrefix("com") || stem.hasPrefix("lpt"))
            && stem.last?.isWholeNumber == true
    }
}

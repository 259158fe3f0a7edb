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

    private static func cut(_ text: String, toBytes maximum: Int) -> String {
        guard text.utf8.count > maximum else { return text }
        var result = ""
        var count = 0
        for character in text {
            count += character.utf8.count
            if count > maximum { break }
            result.append(character)
        }
        return result
    }

    private static func isReservedByWindows(_ name: String) -> Bool {
        let stem = name.prefix { $0 != "." }.lowercased()
        if ["con", "prn", "aux", "nul"].contains(stem) { return true }
        return stem.count == 4 && (stem.hasPrefix("com") || stem.hasPrefix("lpt"))
            && stem.last?.isWholeNumber == true
    }
}

/// A generator of unique names: `a`, `a-2`, `a-3`.
///
/// Names that differ only in case or in Unicode normalization count as equal, because some file systems treat them so.
package struct UniqueNames {
    private var taken: Set<String> = []

    package init() {}

    /// Treats these names as taken.
    package init(taken names: some Sequence<String>) {
        taken = Set(names.map(Self.key))
    }

    /// Returns the name if it is free, or else the name with the next free number before the suffix.
    ///
    /// The variants are endings of further names that are taken together with this one.
    package mutating func claim(_ stem: String, suffix: String = "", variants: [String] = []) -> String {
        var candidate = stem + suffix
        var number = 2
        while true {
            let keys = ([""] + variants).map { Self.key(candidate + $0) }
            if taken.isDisjoint(with: keys) {
                taken.formUnion(keys)
                return candidate
            }
            candidate = "\(stem)-\(number)\(suffix)"
            number += 1
        }
    }

    /// Returns a key that is equal for all names that some file system treats as equal.
    ///
    /// Strings are compared by canonical equivalence already. Several small letters may have one capital, such as `σ`
    /// and `ς`. Several capitals may have one small letter.
    private static func key(_ name: String) -> String { name.lowercased().uppercased().lowercased() }
}

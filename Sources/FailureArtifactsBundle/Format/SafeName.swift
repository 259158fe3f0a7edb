/// Names that every file system, shell and artifact upload accepts.
///
/// What NTFS forbids (`" * : < > ? | \ /`), what GitHub's upload-artifact refuses (the same, CR and LF) and
/// what a shell would interpret is replaced; letters, marks and digits of every script stay.
package enum SafeName {
    /// A name as a part of a file name.
    ///
    /// - Parameters:
    ///   - text: Any text.
    ///   - maximumBytes: How many bytes of UTF-8 the result may have; it is cut between characters.
    /// - Returns: At least one character, the first of which is neither a dot nor a hyphen.
    package static func make(from text: String, maximumBytes: Int) -> String {
        var result = ""
        var wasReplaced = false
        for scalar in text.unicodeScalars {
            if isKept(scalar) {
                result.unicodeScalars.append(scalar)
                wasReplaced = false
            } else if !wasReplaced {
                // A run of what cannot stay leaves one mark.
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

/// Gives each of several things a name of its own: `a`, `a-2`, `a-3`.
///
/// Names that differ only in case, or in the form of Unicode, are the same file on some systems, and here.
package struct UniqueNames {
    private var taken: Set<String> = []

    package init() {}

    /// - Parameter names: Names that are taken.
    package init(taken names: some Sequence<String>) {
        taken = Set(names.map(Self.key))
    }

    /// The name, or the name with the next number that is free.
    ///
    /// - Parameters:
    ///   - stem: The name, or its part before the number.
    ///   - suffix: Its part after the number, such as the extension.
    ///   - variants: Endings of further names that come with it: those are taken too.
    /// - Returns: A name that was not given before.
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

    /// The same for all names that some file system takes for one.
    ///
    /// Equality of strings is by canonical equivalence already. Several small letters may have one capital, such as
    /// `σ` and `ς`, and several capitals one small letter.
    private static func key(_ name: String) -> String { name.lowercased().uppercased().lowercased() }
}

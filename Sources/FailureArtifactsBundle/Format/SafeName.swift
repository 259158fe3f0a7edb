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

/// The file name of a bundle: `<Suite>.<test>[-<suffix>]-<8 random hex>.zip`, at most 200 bytes of UTF-8.
package struct BundleName: Equatable, Sendable, CustomStringConvertible {
    private static let maximumBytes = 200

    package let description: String

    /// Creates a name; its random part distinguishes it from other bundles of the same test.
    package init(
        test: BundleMetadata.Test, suffix: String? = nil, random: UInt32 = .random(in: 0 ... .max)
    ) {
        let digits = String(random, radix: 16)
        // A long name is never shortened at the ending.
        let ending =
            (suffix.map { "-" + SafeName.make(from: $0, maximumBytes: 60) } ?? "")
            + "-" + String(repeating: "0", count: 8 - digits.count) + digits + ".zip"
        let stem = test.suite + "." + Self.withoutParameters(test.name)
        description =
            SafeName.make(from: stem, maximumBytes: Self.maximumBytes - ending.utf8.count - 1) + ending
    }

    /// Removes the parameter labels, as in `total(of:in:)`; their punctuation would become underscores.
    private static func withoutParameters(_ name: String) -> Substring {
        guard name.hasSuffix(":)"), let start = name.lastIndex(of: "("), start > name.startIndex
        else { return Substring(name) }
        return name[..<start]
    }
}

extension BundleName {
    /// The length of the end of a bundle's name: a dash, eight hexadecimal digits and `.zip`.
    private static let randomCount = 13

    /// The start of the names of all bundles of a test, up to the dash before the random part.
    package static func stem(of test: BundleMetadata.Test, suffix: String? = nil) -> String {
        String(BundleName(test: test, suffix: suffix).description.dropLast(randomCount))
    }

    /// Returns the start of a failure's bundle's name, up to the dash before the random part; nil for another name.
    package static func stemOfFailure(in name: String) -> String? {
        isName(name) && !isOfPassingTest(name) ? String(name.dropLast(randomCount)) : nil
    }

    /// True if a name consists of this stem and the end of a bundle's name.
    ///
    /// Strings are compared by canonical equivalence, because the name on the disk may have other bytes.
    package static func isName(_ name: String, with stem: String) -> Bool {
        name.count == stem.count + randomCount && name.hasPrefix(stem + "-") && name.hasSuffix(".zip")
    }

    /// True if a name has the form of a bundle's.
    package static func isName(_ name: String) -> Bool {
        let end = name.utf8.suffix(randomCount)
        return end.first == UInt8(ascii: "-") && end.count < name.utf8.count && name.hasSuffix(".zip")
            && end.dropFirst().prefix(8).allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
    }

    /// Returns the eight digits in a bundle's name that distinguish it from all others.
    package static func randomPart(of name: String) -> String { String(name.dropLast(4).suffix(8)) }

    /// True if the name belongs to the bundle of a test that passed.
    package static func isOfPassingTest(_ name: String) -> Bool {
        name.hasSuffix(".zip")
            && name.dropLast(randomCount).hasSuffix("-\(BundleMetadata.Outcome.passed.rawValue)")
    }
}

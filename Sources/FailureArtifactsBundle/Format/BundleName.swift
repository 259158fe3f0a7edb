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

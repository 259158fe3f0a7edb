/// The file name of a bundle: `<Suite>.<test>[-<suffix>]-<8 random hex>.zip`, at most 200 bytes of UTF-8.
package struct BundleName: Equatable, Sendable, CustomStringConvertible {
    private static let maximumBytes = 200

    package let description: String

    /// Makes a name that is told apart from others of the same test by its random part.
    ///
    /// - Parameters:
    ///   - test: The test.
    ///   - suffix: What else to say, such as the case of a parameterised test.
    ///   - random: The random part.
    package init(
        test: BundleMetadata.Test, suffix: String? = nil, random: UInt32 = .random(in: 0 ... .max)
    ) {
        let digits = String(random, radix: 16)
        // It is never what a long name gives way in.
        let ending =
            (suffix.map { "-" + SafeName.make(from: $0, maximumBytes: 60) } ?? "")
            + "-" + String(repeating: "0", count: 8 - digits.count) + digits + ".zip"
        let stem = test.suite + "." + Self.withoutParameters(test.name)
        description =
            SafeName.make(from: stem, maximumBytes: Self.maximumBytes - ending.utf8.count - 1) + ending
    }

    /// `total` of `total(of:in:)`: of the labels only underscores would be left.
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
    static func stem(of test: BundleMetadata.Test, suffix: String? = nil) -> String {
        String(BundleName(test: test, suffix: suffix).description.dropLast(randomCount))
    }

    /// True if a bundle with this stem has such a name, which may be in other bytes on the disk.
    static func isName(_ name: String, with stem: String) -> Bool {
        name.count == stem.count + randomCount && name.hasPrefix(stem + "-") && name.hasSuffix(".zip")
    }

    /// True if a bundle's name says that the test passed.
    static func isOfPassingTest(_ name: String) -> Bool {
        name.hasSuffix(".zip")
            && name.dropLast(randomCount).hasSuffix("-\(BundleMetadata.Outcome.passed.rawValue)")
    }
}

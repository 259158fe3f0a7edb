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

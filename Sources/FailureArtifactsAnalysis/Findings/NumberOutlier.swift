internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A few numbers that are far larger or smaller than the others of their column, or the only negative one.
enum NumberOutlier: FindingRule {
    static let code = Finding.Code.patternOutlier

    /// The maximum number of different numbers to read of a column.
    private static let limit = 5000
    /// The smallest number of other values.
    private static let minimum = 8.0
    /// The smallest factor between the others and an outlier: nearly 1,000, as between seconds and milliseconds.
    private static let factor = 500.0

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for table in store.tables {
            for column in Outliers.columns(of: table) where !Relevance.isReference(column.name) {
                let name = quotedIdentifier(column.name)
                let isNumber = "typeof(\(name)) IN ('integer', 'real')"
                let values = try store.rows(
                    "SELECT \(name), count(*) FROM \(quotedIdentifier(table.name)) WHERE \(isNumber) "
                        + "GROUP BY 1 ORDER BY 1", limit: limit)
                guard values.count > 1, values.count < limit,
                    values.allSatisfy({ $0[0].number?.isFinite == true }),
                    let odd = Odd(values.map { ($0[0], $0[1].number ?? 1) })
                else { continue }
                let literals = odd.values.compactMap(\.number).map { "\($0)" }
                let finding = try Outliers.finding(
                    code, where: "\(isNumber) AND \(name) IN (\(literals.joined(separator: ", ")))",
                    column: column, of: table, in: store,
                    title: {
                        "In \(Counted.items($0, "row")) of \(table.name), \(column.name) is \(odd.kind.rawValue)"
                    },
                    explanation: odd.explanation(column.name),
                    relevance: odd.kind == .negative ? 12 : 20,
                    likelyFrom: nil)
                if let finding { findings.append(finding) }
            }
        }
        return findings
    }

    /// Numbers that differ from the others, which are in a range.
    struct Odd {
        enum Kind: String {
            case negative = "negative, and in no other row"
            case large = "far larger than in the others"
            case small = "far smaller than in the others"
        }

        let kind: Kind
        let values: [StoredValue]
        let range: ClosedRange<Double>
        private let count: Double

        /// Looks for numbers that differ from the others.
        ///
        /// - Parameter all: The different numbers in ascending order, each with the number of rows that have it.
        init?(_ all: [(value: StoredValue, count: Double)]) {
            let numbers = all.compactMap { entry in
                entry.value.number.map { (entry.value, $0, entry.count) }
            }
            func odd(_ kind: Kind, _ split: ([Double]) -> ClosedRange<Double>?) -> Odd? {
                guard let range = split(numbers.map(\.1)) else { return nil }
                let others = numbers.filter { range.contains($0.1) }
                let values = numbers.filter { !range.contains($0.1) }
                let few = values.reduce(0) { $0 + $1.2 }
                let many = others.reduce(0) { $0 + $1.2 }
                guard few >= 1, few * minimum <= many,
                    few <= (kind == .negative ? 1 : Double(Outliers.maximum))
                else { return nil }
                return Odd(kind: kind, values: values.map(\.0), range: range, count: many)
            }
            let found =
                odd(.large, Self.withoutLarge) ?? odd(.small, Self.withoutSmall)
                ?? odd(.negative, Self.withoutNegative)
            guard let found else { return nil }
            self = found
        }

        private init(kind: Kind, values: [StoredValue], range: ClosedRange<Double>, count: Double) {
            (self.kind, self.values, self.range, self.count) = (kind, values, range, count)
        }

        /// Returns the range of positive numbers below a jump to far larger ones.
        private static func withoutLarge(_ numbers: [Double]) -> ClosedRange<Double>? {
            guard let first = numbers.first, first >= 0 else { return nil }
            let jump = Array(zip(numbers, numbers.dropFirst())).last { $0 > 0 && $1 >= $0 * factor }
            return jump.map { first...$0.0 }
        }

        /// Returns the range of the positive numbers that are alike, without far smaller ones.
        private static func withoutSmall(_ numbers: [Double]) -> ClosedRange<Double>? {
            guard let first = numbers.first, first > 0, let last = numbers.last,
                let jump = Array(zip(numbers, numbers.dropFirst())).last(where: { $1 >= $0 * factor }),
                last <= jump.1 * 10
            else { return nil }
            return jump.1...last
        }

        /// Returns the range of all numbers but the negative ones.
        private static func withoutNegative(_ numbers: [Double]) -> ClosedRange<Double>? {
            guard let last = numbers.last, last > 0, let first = numbers.first(where: { $0 >= 0 }) else {
                return nil
            }
            return first...last
        }

        /// Returns a sentence with the evidence.
        ///
        /// - Parameter column: The column's name.
        /// - Returns: The sentence.
        func explanation(_ column: String) -> String {
            let odd = values.map { StoredText.text(of: $0, width: 40) }.joined(separator: ", ")
            return "\(column) is \(odd), and from \(ValueText.plain(range.lowerBound)) to "
                + "\(ValueText.plain(range.upperBound)) in the other \(Counted.items(Int64(count), "row"))."
        }
    }
}

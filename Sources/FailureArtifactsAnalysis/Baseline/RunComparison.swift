internal import FailureArtifactsBundle

/// The differences of a failing run from a passing one, the first one first.
struct RunComparison {
    /// A part of the statements with a shape that differs between passing runs.
    struct Noise: Hashable {
        enum Part: Hashable {
            case parameter(Int)
            case changes, occurrence
        }

        let shape: Int
        let part: Part
    }

    /// The maximum number of steps of a comparison.
    private static let steps = 4_000_000

    private let a: [ComparedRun.Execution]
    private let b: [ComparedRun.Execution]
    private let (formsA, formsB): ([[ComparedValues.Form]?], [[ComparedValues.Form]?])
    private let noise: Set<Noise>
    /// True if the passing run ends where the failing run ended.
    private let isWhole: Bool
    private var values: ComparedValues
    private var alignment = Alignment(steps: Self.steps)
    /// The shapes of which the values by position say nothing, because most of them differ.
    private var doubtful: Set<Int> = []
    private var found: [Difference] = []

    private static func differences(
        from passing: ComparedRun, to failing: ComparedRun, without noise: Set<Noise> = []
    ) -> [Difference] {
        var comparison = Self(passing, failing, noise)
        comparison.compare()
        return comparison.found
    }

    private init(_ passing: ComparedRun, _ failing: ComparedRun, _ noise: Set<Noise>) {
        (a, b, self.noise) = (passing.executions, failing.executions, noise)
        isWhole = passing.isWhole
        values = ComparedValues([passing, failing])
        (formsA, formsB) = (
            values.forms(of: passing, without: noise), values.forms(of: failing, without: noise)
        )
    }

    private mutating func compare() {
        // A text of which not all values are known is compared by position.
        let sampled = Set(
            zip(a + b, formsA + formsB).filter { $1 == nil }.map(\.0.text.likeness[1]))
        let keys = keys(sampled)
        let pairs = ofSameFunctions(
            alignment.pairs(keys.a, keys.b, fromEnd: (a + b).contains(where: \.isSummary)), keys)
        noteDoubtful(pairs, sampled)
        var (doneA, doneB) = (0, 0)
        for (i, j) in pairs + [(a.count, b.count)] {
            if i > doneA || j > doneB { compareGap(doneA..<i, doneB..<j) }
            if i < a.count { compare(i, j) }
            (doneA, doneB) = (i + 1, j + 1)
        }
        compareCounts(until: pairs.last?.0 ?? a.count - 1)
        findMoved(keys.a, keys.b)
        findRepeated()
        findTransactions()
        found = found.filter { !isNoise($0) }
        order()
    }

    /// Returns the pairs with neighbors of the same function in place of equal statements of other functions.
    private func ofSameFunctions(
        _ pairs: [(Int, Int)], _ keys: (a: [Int], b: [Int])
    ) -> [(Int, Int)] {
        var pairs = pairs
        for index in pairs.indices {
            let (i, j) = pairs[index]
            func isSame(_ i: Int, _ j: Int) -> Bool { a[i].text.likeness[0] == b[j].text.likeness[0] }
            if isSame(i, j) { continue }
            let last = index == 0 ? (-1, -1) : pairs[index - 1]
            let next = index + 1 < pairs.count ? pairs[index + 1] : (a.count, b.count)
            if let other = (last.1 + 1..<next.1).first(where: {
                keys.b[$0] == keys.b[j] && isSame(i, $0)
            }) {
                pairs[index].1 = other
            } else if let other = (last.0 + 1..<next.0).first(where: {
                keys.a[$0] == keys.a[i] && isSame($0, j)
            }) {
                pairs[index].0 = other
            }
        }
        return pairs
    }

    /// Returns numbers for the texts and values of the statements.
    private func keys(_ sampled: Set<Int>) -> (a: [Int], b: [Int]) {
        struct Key: Hashable {
            let text: Int
            let values: [ComparedValues.Form]?
        }
        var numbers: [Key: Int] = [:]
        func number(_ execution: ComparedRun.Execution, _ forms: [ComparedValues.Form]?) -> Int {
            let text = execution.text.likeness[1]
            let key = Key(text: text, values: sampled.contains(text) ? nil : forms?.map(\.outline))
            let number = numbers[key] ?? numbers.count
            numbers[key] = number
            return number
        }
        return (zip(a, formsA).map(number), zip(b, formsB).map(number))
    }

    private mutating func noteDoubtful(_ pairs: [(Int, Int)], _ sampled: Set<Int>) {
        var agreement: [Int: (equal: Int, all: Int)] = [:]
        for (i, j) in pairs where sampled.contains(a[i].text.likeness[1]) {
            guard let x = formsA[i], let y = formsB[j] else { continue }
            let isEqual = x.map(\.outline) == y.map(\.outline)
            agreement[a[i].text.likeness[1], default: (0, 0)].equal += isEqual ? 1 : 0
            agreement[a[i].text.likeness[1], default: (0, 0)].all += 1
        }
        doubtful = Set(agreement.filter { $1.equal * 2 < $1.all }.keys)
    }

    // MARK: - Statements

    /// Compares two statements that belong together.
    private mutating func compare(_ i: Int, _ j: Int) {
        let (x, y) = (a[i], b[j])
        let isCounted = !x.isSummary && !y.isSummary
        var changed: [Int] = []
        if let own = formsA[i], let other = formsB[j], isCounted,
            doubtful.isDisjoint(with: [x.text.likeness[1], y.text.likeness[1]])
        {
            changed = zip(own, other).enumerated().filter { !values.areEqual($1.0, $1.1) }.map(\.offset)
        }
        let hasOtherChanges =
            isCounted && x.record.changes != nil && y.record.changes != nil
            && (x.ownChanges, x.record.changes) != (y.ownChanges, y.record.changes)
        let hasOtherError = x.record.error?.code != y.record.error?.code
        let isRead = isCounted && x.text.outline.isSelect
        let kind: Difference.Kind? =
            if x.text.text != y.text.text {
                .text
            } else if !changed.isEmpty {
                .values(changed)
            } else if hasOtherError {
                .error
            } else if hasOtherChanges,
                !noise.contains(.init(shape: x.text.shapeNumber, part: .changes))
            {
                .changes
            } else if isRead, let own = x.record.fullScanSteps, let other = y.record.fullScanSteps,
                own != other, !noise.contains(.init(shape: x.text.shapeNumber, part: .occurrence))
            {
                .scanned
            } else {
                nil
            }
        if let kind {
            found.append(
                Difference(
                    kind: kind, position: j, passingPosition: i, passing: x, failing: y,
                    hasOtherEffect: kind == .text && (hasOtherChanges || hasOtherError)))
        }
    }

    /// Compares the statements between two that are equal: those that are alike belong together, and the rest is missing
    /// or extra.
    private mutating func compareGap(_ rangeA: Range<Int>, _ rangeB: Range<Int>) {
        var (left, right) = (Array(rangeA), Array(rangeB))
        var matched: [(Int, Int)] = []
        for level in 0..<6 where !left.isEmpty && !right.isEmpty {
            let pairs = alignment.pairs(
                left.map { a[$0].text.likeness[level] }, right.map { b[$0].text.likeness[level] })
            matched += pairs.map { (left[$0], right[$1]) }
            for (i, j) in pairs { (left[i], right[j]) = (-1, -1) }
            left.removeAll { $0 < 0 }
            right.removeAll { $0 < 0 }
        }
        matched.sort { $0.0 < $1.0 }
        for (i, j) in matched { compare(i, j) }
        // After the failing run's last statement, the passing run went on.
        let end =
            isWhole || rangeB.upperBound < b.count
            ? rangeA.upperBound : matched.last?.0 ?? rangeA.lowerBound
        var next = (index: matched.count - 1, position: rangeB.upperBound)
        for i in left.reversed() where i < end {
            while next.index >= 0, matched[next.index].0 > i {
                next = (next.index - 1, min(next.position, matched[next.index].1))
            }
            found.append(
                Difference(kind: .missing, position: next.position, passingPosition: i, passing: a[i]))
        }
        found += right.map { Difference(kind: .extra, position: $0, failing: b[$0]) }
    }

    // MARK: - Sets of statements

    /// Compares the numbers of executions of what a run has only a number of.
    private mutating func compareCounts(until last: Int) {
        let shapes = Set((a + b).filter(\.isSummary).map(\.text.shapeNumber))
        if shapes.isEmpty { return }
        func isCounted(_ difference: Difference, _ shapes: Set<Int>) -> Bool {
            difference.texts.contains { shapes.contains($0.shapeNumber) }
        }
        found.removeAll { [.missing, .extra].contains($0.kind) && isCounted($0, shapes) }
        let inA = Dictionary(grouping: a.prefix(last + 1), by: \.text.shapeNumber)
        let inB = Dictionary(grouping: b.indices, by: { b[$0].text.shapeNumber })
        var uneven: Set<Int> = []
        var counts: [Difference] = []
        for shape in shapes {
            guard let own = inA[shape], let others = inB[shape] else { continue }
            func sum(_ executions: [ComparedRun.Execution]) -> Int {
                executions.reduce(0) { $0.addingReportingOverflow($1.count).partialValue }
            }
            let failing = others.map { b[$0] }
            let (x, y) = (sum(own), sum(failing))
            if x == y { continue }
            uneven.insert(shape)
            let example = Self.example(own, failing, isMoreOften: y > x)
            counts.append(
                Difference(
                    kind: .count(passing: x, failing: y), position: others[others.count - 1] + 1,
                    passing: example.0, failing: example.1))
        }
        found.removeAll {
            if case .values = $0.kind { isCounted($0, uneven) } else { false }
        }
        found += counts
    }

    /// Returns the executions on the line whose number of executions differs most.
    private static func example(
        _ passing: [ComparedRun.Execution], _ failing: [ComparedRun.Execution], isMoreOften: Bool
    ) -> (ComparedRun.Execution?, ComparedRun.Execution?) {
        func function(_ execution: ComparedRun.Execution) -> String? {
            execution.record.source.map { $0.file + " " + ($0.function ?? "") }
        }
        var surplus: [String: Int] = [:]
        for (sign, run) in [(-1, passing), (1, failing)] {
            for execution in run {
                guard let function = function(execution) else { continue }
                surplus[function, default: 0] &+= sign &* execution.count
            }
        }
        let most = surplus.max {
            (isMoreOften ? $0.value : 0 &- $0.value, $1.key) < (
                isMoreOften ? $1.value : 0 &- $1.value, $0.key
            )
        }?.key
        func last(_ run: [ComparedRun.Execution]) -> ComparedRun.Execution? {
            run.last { function($0) == most } ?? run.last
        }
        return (last(passing), last(failing))
    }

    /// Joins what is missing at one place and extra at another.
    private mutating func findMoved(_ keysA: [Int], _ keysB: [Int]) {
        func key(_ execution: ComparedRun.Execution?, _ orders: [UInt64: Int]) -> Int? {
            execution.flatMap { orders[$0.record.order] }
        }
        let (ordersA, ordersB) = (
            Dictionary(zip(a.map(\.record.order), keysA), uniquingKeysWith: { $1 }),
            Dictionary(zip(b.map(\.record.order), keysB), uniquingKeysWith: { $1 })
        )
        var missing: [Int: [Int]] = [:]
        for index in found.indices.reversed() where found[index].kind == .missing {
            key(found[index].passing, ordersA).map { missing[$0, default: []].append(index) }
        }
        var joined: Set<Int> = []
        for index in found.indices where found[index].kind == .extra {
            guard let key = key(found[index].failing, ordersB), let other = missing[key]?.popLast()
            else {
                continue
            }
            found[index].kind = .moved
            found[index].passing = found[other].passing
            found[index].passingPosition = found[other].passingPosition
            joined.insert(other)
        }
        found = found.enumerated().filter { !joined.contains($0.offset) }.map(\.element)
    }

    /// Notes which of the missing and extra statements ran more or less often.
    private mutating func findRepeated() {
        func counts(_ run: [ComparedRun.Execution]) -> [Int: Int] {
            run.reduce(into: [:]) { $0[$1.text.likeness[1], default: 0] += 1 }
        }
        let (own, others) = (counts(a), counts(b))
        for index in found.indices {
            guard let text = found[index].texts.first?.likeness[1], let x = own[text],
                let y = others[text]
            else { continue }
            switch found[index].kind {
            case .missing: (found[index].isRepeated, found[index].isElsewhere) = (y < x, y >= x)
            case .extra: (found[index].isRepeated, found[index].isElsewhere) = (y > x, y <= x)
            default: break
            }
        }
    }

    /// Notes which missing ends of transactions had a beginning that is missing, too.
    private mutating func findTransactions() {
        let missing = Dictionary(
            found.indices.filter { found[$0].kind == .missing }
                .compactMap { index in found[index].passingPosition.map { ($0, index) } },
            uniquingKeysWith: { $1 })
        // The last beginning on each connection.
        var starts: [UInt64: Int] = [:]
        for (place, execution) in a.enumerated() {
            switch execution.text.outline.kind {
            case .begin: starts[execution.record.connection] = place
            case .commit, .rollback:
                guard let index = missing[place], let start = starts[execution.record.connection] else {
                    continue
                }
                found[index].isWholeTransaction = missing[start] != nil
            default: continue
            }
        }
    }

    private func isNoise(_ difference: Difference) -> Bool {
        switch difference.kind {
        case .missing, .extra, .moved, .count:
            difference.texts.contains {
                noise.contains(.init(shape: $0.shapeNumber, part: .occurrence))
            }
        default: false
        }
    }

    /// Sorts the differences by the order of the failing run, and keeps one of equal ones.
    private mutating func order() {
        struct Identity: Hashable {
            let kind: String
            let texts: [Int]
        }
        let lastResult =
            found.filter { [.changes, .scanned].contains($0.kind) }.map(\.position).max() ?? 0
        func rank(_ difference: Difference) -> [Int] {
            let isLate =
                switch difference.kind {
                // Another order of writes explains another result.
                case .moved:
                    difference.position < lastResult && difference.failing?.text.isWrite == true ? 0 : 1
                case .count: difference.failing?.text.isControl == true ? 2 : 1
                default: 0
                }
            // At the same place, what the failing run did tells more than what it didn't do.
            return [isLate, difference.position, difference.kind == .missing ? 1 : 0]
        }
        let sorted = found.enumerated().sorted {
            let (x, y) = (rank($0.element), rank($1.element))
            return x == y ? $0.offset < $1.offset : x.lexicographicallyPrecedes(y)
        }.map(\.element)
        var places: [Identity: Int] = [:]
        found = []
        for difference in sorted {
            let kind = if case .count = difference.kind { "count" } else { "\(difference.kind)" }
            // The first number of a text's likeness tells functions apart, too.
            let identity = Identity(
                kind: kind,
                texts: [difference.passing, difference.failing].map { $0?.text.likeness[0] ?? -1 })
            let hasEffect = difference.kind == .text && difference.failing?.record.changes ?? 0 > 0
            if let place = places[identity] {
                found[place].times += 1
                if hasEffect, found[place].effective == nil {
                    found[place].effective = difference.failing
                }
            } else {
                places[identity] = found.count
                found.append(difference)
                if hasEffect { found[found.count - 1].effective = difference.failing }
            }
        }
    }
}

extension RunComparison {
    /// Returns the differences of a failing run from a passing one, those that passing tests have, too, at the end.
    ///
    /// - `noise`: what differs between passing runs.
    /// - `common`: the differences that passing tests have from their passing runs, too; nil if the code of both runs is the
    ///   same, so that the order of the differences tells what led to what.
    static func differences(
        from passing: ComparedRun, to failing: ComparedRun, without noise: Set<Noise>,
        common: Set<CommonDifference>?
    ) -> [Difference] {
        var found = differences(from: passing, to: failing, without: noise)
        let start = found.map(\.start).min()
        // Of counted statements, an earlier one may differ.
        let isKnown = !found.contains { if case .count = $0.kind { true } else { false } }
        let first = isKnown ? found.firstIndex { $0.start == start } : nil
        for index in found.indices {
            found[index].isFirst = index == first
            // What has no effect in other tests may have one in this test.
            found[index].isCommon =
                !found[index].hasOtherEffect && common.map(found[index].isAmong) ?? false
        }
        if common == nil { return found.filter(\.isFirst) + found.filter { !$0.isFirst } }
        // Another text is never a consequence.
        let own = found.filter { !$0.isCommon }
        return own.filter(\.hasOtherEffect) + own.filter { !$0.hasOtherEffect }
            + found.filter(\.isCommon)
    }

    /// Returns what differs between two passing runs.
    static func noise(between run: ComparedRun, and other: ComparedRun) -> Set<Noise> {
        let found = differences(from: run, to: other) + differences(from: other, to: run)
        return Set(
            found.flatMap { difference in
                difference.texts.flatMap { text -> [Noise] in
                    switch difference.kind {
                    case .values(let parameters):
                        parameters.map { Noise(shape: text.shapeNumber, part: .parameter($0)) }
                    case .changes: [Noise(shape: text.shapeNumber, part: .changes)]
                    default: [Noise(shape: text.shapeNumber, part: .occurrence)]
                    }
                }
            })
    }
}

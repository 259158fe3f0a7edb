internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A part of statements in which passing tests differ from their last passing runs.
package struct CommonDifference: Hashable, Comparable, Codable, Sendable {
    /// The shape of the statements, see ``StatementShape``.
    package var shape: String
    /// The index of a parameter that has other values; absent for other parts.
    package var parameter: Int?
    /// True if the same statements had other effects; absent for other parts.
    ///
    /// Without both, there were other statements, or another number of them.
    package var effect: Bool?

    package init(shape: String, parameter: Int? = nil, effect: Bool? = nil) {
        (self.shape, self.parameter, self.effect) = (shape, parameter, effect)
    }

    package static func < (first: Self, second: Self) -> Bool {
        (first.shape, first.parameter ?? -1, first.effect == nil ? 0 : 1)
            < (second.shape, second.parameter ?? -1, second.effect == nil ? 0 : 1)
    }

    /// Compares two passing runs of a test, without the order of their statements.
    package static func all(from then: [StatementRecord], to now: [StatementRecord]) -> Set<Self> {
        let runs = (then: then.map(Execution.init), now: now.map(Execution.init))
        var shapes: [String: String] = [:]
        func groups(_ own: [Execution], without others: [Execution]) -> [String: [Execution]] {
            var counts: [Execution: Int] = [:]
            for execution in others { counts[execution, default: 0] += 1 }
            let rest = own.filter { execution in
                counts[execution, default: 0] -= 1
                return counts[execution, default: 0] < 0
            }
            return Dictionary(grouping: rest) { execution in
                let shape = shapes[execution.sql] ?? StatementShape(execution.sql).shape
                shapes[execution.sql] = shape
                return shape
            }
        }
        let gone = groups(runs.then, without: runs.now)
        let new = groups(runs.now, without: runs.then)
        var found: Set<Self> = []
        for shape in Set(gone.keys).union(new.keys) {
            let (gone, new) = (gone[shape] ?? [], new[shape] ?? [])
            if gone.reduce(0, { $0 &+ $1.count }) != new.reduce(0, { $0 &+ $1.count }) {
                found.insert(Self(shape: shape))
                continue
            }
            for (old, new) in zip(gone, new) {
                if old.sql != new.sql {
                    found.insert(Self(shape: shape))
                } else if old.values == new.values {
                    found.insert(Self(shape: shape, effect: true))
                } else {
                    for (index, pair) in zip(old.values, new.values).enumerated() where pair.0 != pair.1
                    {
                        found.insert(Self(shape: shape, parameter: index))
                    }
                }
            }
        }
        return found
    }

    /// The facts of an execution that don't differ from run to run.
    private struct Execution: Hashable {
        let sql: String
        let values: [BoundValue?]
        let effects: [Int]
        let count: Int

        init(_ record: StatementRecord) {
            sql = record.sql
            values = (record.values ?? []).map { $0.isGenerated ? nil : $0 }
            effects = [
                record.changes, record.ownChanges, record.error.map { Int($0.code) },
                record.fullScanSteps,
            ].map { $0 ?? -1 }
            count = record.repeated ?? 1
        }
    }
}

extension BoundValue {
    /// True for a UUID, for a text with one or with a time of day, and for a number that is a time of these months.
    fileprivate var isGenerated: Bool {
        switch value {
        case .null: return false
        case .blob(let bytes): return bytes.count == 16
        case .integer(let number): return Self.isNow(Double(number))
        case .real(let number): return Self.isNow(number)
        case .text(let text):
            // The digits and separators of `2026-03-01 12:04`, and of `8F14E45F-CEEA-467F-9B4A-…`.
            var (form, letters) = ([UInt8](), 0)
            for byte in text.utf8 {
                let isHexadecimal = (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
                letters = isHexadecimal ? letters + 1 : byte == UInt8(ascii: "-") ? letters : 0
                if letters == 32 { return true }
                form.append(
                    (0x30...0x39).contains(byte) ? 0x30 : byte == UInt8(ascii: "T") ? 0x20 : byte)
            }
            return String(decoding: form, as: UTF8.self).contains("0000-00-00 00:00")
        }
    }

    /// True for a number of seconds or milliseconds since 1970, or of seconds since 2001, that is within 400 days of now.
    private static func isNow(_ number: Double) -> Bool {
        let now = Double(Timestamp.now.nanoseconds) / 1e9
        return [number, number / 1e3, number + 978_307_200].contains { abs($0 - now) < 400 * 86_400 }
    }
}

internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The values of two runs in a form in which they can be compared.
struct ComparedValues {
    enum Form: Hashable {
        case value(BoundValue)
        /// A text without the generated parts inside it.
        case text([UInt8])
        /// A value that only one run has, such as a UUID.
        case generated(BoundValue)
        /// A time near the run, as its distance in seconds.
        case time(Double)
        /// A value that differs in every run.
        case varying

        /// The form by which statements are aligned: generated values and times are told apart only in pairs.
        var outline: Form {
            switch self {
            case .generated: .generated(BoundValue(.null))
            case .time: .time(0)
            default: self
            }
        }
    }

    /// The difference up to which two times of different runs count as equal, in seconds.
    private static let tolerance = 20.0
    /// The distance from the run in which a number or a text is a time of the run, in days.
    private static let nearDays = 400.0
    private static let day = 86_400.0

    /// The generated values of one run for those of the other.
    private var partners: [BoundValue: BoundValue] = [:]
    private var partnersBack: [BoundValue: BoundValue] = [:]
    private let shared: Set<BoundValue>

    /// Collects the values that both runs have: they aren't generated.
    init(_ runs: [ComparedRun]) {
        let sets = runs.map { run in
            Set(
                run.executions.flatMap {
                    ($0.record.values ?? []).flatMap { [$0] + Self.identifiers(in: $0) }
                })
        }
        shared = sets.dropFirst().reduce(sets.first ?? []) { $0.intersection($1) }
    }

    /// Returns the forms of a run's values, by the execution; nil where they are unknown.
    func forms(of run: ComparedRun, without noise: Set<RunComparison.Noise>) -> [[Form]?] {
        // A row that is named only once may be the wrong one.
        var keys: [BoundValue: Int] = [:]
        for execution in run.executions {
            for index in execution.text.keys {
                if let value = execution.record.values?[safe: index] { keys[value, default: 0] += 1 }
            }
        }
        return run.executions.map { execution in
            let values = execution.record.values ?? (execution.text.hasParameters ? nil : [])
            return values?.enumerated().map { index, value in
                if noise.contains(.init(shape: execution.text.shapeNumber, part: .parameter(index))) {
                    return .varying
                }
                let isKey = execution.text.keys.contains(index) && keys[value] ?? 0 > 1
                return form(of: value, isKey: isKey, at: run.time)
            }
        }
    }

    /// Returns the outline of a UUID or a time near a run; nil for another value.
    static func generatedForm(of value: StoredValue, at time: Double) -> Form? {
        let bound: Value =
            switch value.content {
            case .null: .null
            case .integer(let number): .integer(number)
            case .real(let number): .real(number)
            case .text(let bytes): .text(String(decoding: bytes, as: UTF8.self))
            case .blob(let bytes): .blob(bytes)
            }
        let form = Self([]).form(of: BoundValue(bound), isKey: false, at: time).outline
        return switch form {
        case .generated, .time: form
        default: nil
        }
    }

    /// Returns the seconds since 1970; 0 for another format.
    static func seconds(of time: String) -> Double {
        MetadataTime.microseconds(of: time).map { Double($0) / 1_000_000 } ?? 0
    }

    /// Compares the values of two executions, and notes which generated values belong together.
    mutating func areEqual(_ a: Form, _ b: Form) -> Bool {
        switch (a, b) {
        case (.varying, _), (_, .varying): return true
        case (.time(let a), .time(let b)): return abs(a - b) < Self.tolerance
        case (.generated(let a), .generated(let b)):
            if partners[a] == nil, partnersBack[b] == nil { (partners[a], partnersBack[b]) = (b, a) }
            return partners[a] == b
        case (.value(let a), .value(let b)): return a == b || a.isStart(of: b) || b.isStart(of: a)
        default: return a == b
        }
    }

    private func form(of value: BoundValue, isKey: Bool, at time: Double) -> Form {
        if shared.contains(value) || value.bytes != nil { return .value(value) }
        switch value.value {
        case .null: return .value(value)
        case .blob(let bytes): return bytes.count == 16 ? .generated(value) : .value(value)
        case .integer(let number):
            return Self.distance(of: Double(number), from: time).map(Form.time)
                ?? (isKey ? .generated(value) : .value(value))
        case .real(let number):
            return Self.distance(of: number, from: time).map(Form.time) ?? .value(value)
        case .text(let text): return form(ofText: text, value, at: time)
        }
    }

    private func form(ofText text: String, _ value: BoundValue, at time: Double) -> Form {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var (index, copied) = (0, 0)
        while index < bytes.count {
            let rest = bytes[index...]
            let isStart = index == 0 || !bytes[index - 1].isAlphanumeric
            if isStart, let length = GeneratedText.uuid(rest), !isShared(rest.prefix(length)) {
                if length == bytes.count { return .generated(value) }
                result += bytes[copied..<index] + Array("\u{1}id".utf8)
                index += length
                copied = index
            } else if isStart, let (length, seconds) = GeneratedText.time(rest),
                let distance = Self.distance(of: seconds, length > 10, from: time)
            {
                if length == bytes.count { return .time(distance) }
                result += bytes[copied..<index] + Array("\u{1}time".utf8)
                index += length
                copied = index
            } else {
                index += 1
            }
        }
        return copied == 0 ? .value(value) : .text(result + bytes[copied...])
    }

    private func isShared(_ uuid: ArraySlice<UInt8>) -> Bool {
        shared.contains(BoundValue(.text(folded(String(decoding: uuid, as: UTF8.self)))))
    }

    /// Returns the UUIDs inside a text, as values.
    private static func identifiers(in value: BoundValue) -> [BoundValue] {
        guard case .text(let text) = value.value else { return [] }
        let bytes = Array(text.utf8)
        return bytes.indices.compactMap { index in
            guard index == 0 || !bytes[index - 1].isAlphanumeric,
                let length = GeneratedText.uuid(bytes[index...])
            else { return nil }
            return BoundValue(
                .text(folded(String(decoding: bytes[index..<(index + length)], as: UTF8.self))))
        }
    }

    /// Returns the distance of a number in one of the usual units and epochs; nil if that isn't near.
    private static func distance(of number: Double, from time: Double) -> Double? {
        let times = [(1, 0), (1, Double(MetadataTime.referenceDate)), (1e3, 0), (1e6, 0), (1e9, 0)]
        return times.lazy.map { number / $0.0 + $0.1 - time }.first { abs($0) < nearDays * day }
    }

    /// Returns the distance of a point in time, or of a date without one from the run's date.
    private static func distance(of seconds: Double, _ hasTime: Bool, from time: Double) -> Double? {
        let distance = seconds - (hasTime ? time : (time / day).rounded(.down) * day)
        return abs(distance) < nearDays * day ? distance : nil
    }
}

extension BoundValue {
    /// True if only the start of a value is known, and another value has it.
    fileprivate func isStart(of other: BoundValue) -> Bool {
        guard let bytes else { return false }
        switch (value, other.value) {
        case (.text(let start), .text(let text)):
            return bytes == other.bytes ?? text.utf8.count
                && (text.hasPrefix(start) || start.hasPrefix(text))
        case (.blob(let start), .blob(let blob)):
            return bytes == other.bytes ?? blob.count
                && (blob.starts(with: start) || start.starts(with: blob))
        default: return false
        }
    }
}

/// Recognizes what programs generate at the start of a text.
private enum GeneratedText {
    /// Returns the length of a UUID, with or without hyphens.
    static func uuid(_ bytes: ArraySlice<UInt8>) -> Int? {
        var end = bytes.startIndex
        for (part, count) in [8, 4, 4, 4, 12].enumerated() {
            if part > 0, end < bytes.endIndex, bytes[end] == UInt8(ascii: "-") { end += 1 }
            guard bytes.endIndex - end >= count,
                bytes[end..<(end + count)].allSatisfy(\.isHexadecimal)
            else { return nil }
            end += count
        }
        return end < bytes.endIndex && bytes[end].isAlphanumeric ? nil : end - bytes.startIndex
    }

    /// Returns the length of a date with or without a time, and its seconds since 1970.
    static func time(_ bytes: ArraySlice<UInt8>) -> (length: Int, seconds: Double)? {
        guard bytes.first?.isDigit == true else { return nil }
        let form = Array("dddd-dd-dd".utf8), time = Array("dd:dd:dd".utf8)
        func matches(_ bytes: ArraySlice<UInt8>, _ form: [UInt8]) -> Bool {
            bytes.count >= form.count
                && zip(bytes, form).allSatisfy { $1 == UInt8(ascii: "d") ? $0.isDigit : $0 == $1 }
        }
        guard matches(bytes, form) else { return nil }
        let date = String(decoding: bytes.prefix(10), as: UTF8.self)
        var length = 10
        var text = date + "T00:00:00Z"
        let rest = bytes.dropFirst(10)
        if let separator = rest.first, separator == 0x20 || separator == UInt8(ascii: "T"),
            matches(rest.dropFirst(), time)
        {
            let fraction =
                rest.dropFirst(9).first == UInt8(ascii: ".")
                ? 1 + rest.dropFirst(10).prefix { $0.isDigit }.count : 0
            text = date + "T" + String(decoding: rest.dropFirst().prefix(8), as: UTF8.self) + "Z"
            length = 19 + fraction
            if bytes.dropFirst(length).first == UInt8(ascii: "Z") { length += 1 }
        }
        return MetadataTime.microseconds(of: text).map { (length, Double($0) / 1_000_000) }
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
    fileprivate var isHexadecimal: Bool { isDigit || (0x61...0x66).contains(self | 0x20) }
    fileprivate var isAlphanumeric: Bool { isDigit || (0x61...0x7A).contains(self | 0x20) }
}

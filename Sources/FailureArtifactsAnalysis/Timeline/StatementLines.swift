internal import CFailureArtifactsSQLite
package import FailureArtifactsBundle
internal import FailureArtifactsSQLite

/// The lines that tell most about statements: in a wrapper of SQLite, the same few lines run all of them.
package struct StatementLines {
    /// A statement's effect, as far as its text tells.
    private struct Effect: Hashable {
        let kind: StatementOutline.Kind
        /// The table that is written to, or the first one that is read.
        let table: String?

        /// Returns nil for a statement that says nothing about its caller, such as `BEGIN` or a `PRAGMA`.
        init?(_ sql: String) {
            let outline = StatementOutline(sql)
            kind = outline.kind
            switch kind {
            case .begin, .commit, .rollback, .rollbackTo, .savepoint, .release: return nil
            default: break
            }
            if let table = outline.table {
                self.table = table
            } else {
                let words = outline.words
                let from = words.firstIndex(of: "from").map { $0 + 1 }
                table = from.flatMap { words.indices.contains($0) ? words[$0] : nil }
                if kind == .other, table == nil { return nil }
            }
        }
    }

    private struct Line: Hashable {
        let file: String
        let line: Int

        init(_ source: StatementRecord.Source) {
            file = source.file
            line = source.line
        }
    }

    /// The effects of the statements that each line ran, by the lines that called it.
    private var effects: [Line: [[Line]: Set<Effect>]] = [:]
    /// The lines that ran different statements for different callers.
    private var wrappers: Set<Line> = []
    /// The files of these lines.
    private var files: Set<String> = []

    /// The maximum numbers of a statement's frames and of a line's calls that are compared.
    ///
    /// The time for an untrusted log would grow with their squares.
    fileprivate static let (mostFrames, mostCallers) = (100, 100)

    package init(_ records: [StatementRecord]) {
        for record in records {
            let frames = record.frames.map(Line.init)
            guard frames.count > 1, let effect = Effect(record.sql) else { continue }
            for (index, frame) in frames.enumerated().dropLast() {
                effects[frame, default: [:]][Array(frames[(index + 1)...]), default: []].insert(effect)
            }
        }
        for (line, callers) in effects {
            // One call that differs from the others in all that it ran makes the line a wrapper.
            let all = callers.values.reduce(into: Set<Effect>()) { $0.formUnion($1) }
            guard all.count > 1 else { continue }
            // Stacks are cut at their outer end, so the same call may have a shorter list of callers.
            let cut = Set(callers.keys.flatMap { lines in lines.indices.map { Array(lines[..<$0]) } })
            let sets = Array(
                Set(callers.filter { !cut.contains($0.key) }.values).prefix(Self.mostCallers))
            let isWrapper = sets.indices.contains { first in
                sets[(first + 1)...].contains { $0.isDisjoint(with: sets[first]) }
            }
            if isWrapper {
                wrappers.insert(line)
                files.insert(line.file)
            }
        }
    }

    /// Returns the innermost line outside of the wrapper, or else the innermost line.
    ///
    /// Other lines of a wrapper's file are passed over where they run a statement themselves, or are called from their
    /// folder.
    package func line(of record: StatementRecord) -> StatementRecord.Source? {
        let frames = record.frames
        guard let index = frames.firstIndex(where: { !wrappers.contains(Line($0)) }) else {
            return record.source
        }
        let file = frames[0].file
        guard frames[index].file == file, files.contains(file),
            let caller = frames[index...].first(where: { $0.file != file })
        else { return frames[index] }
        return index == 0 || Self.folder(of: caller) == Self.folder(of: frames[0])
            ? caller : frames[index]
    }

    /// Returns the callers outside of the wrapper, which may call a closure of its user.
    private func callers(
        of record: StatementRecord, _ source: StatementRecord.Source?
    ) -> [StatementRecord.Source]? {
        guard let callers = record.callers, let inner = record.frames.first?.file else {
            return record.callers
        }
        let isWrapped = inner != source?.file && files.contains(inner)
        let outside = callers.filter {
            $0 == source || !wrappers.contains(Line($0)) && !(isWrapped && $0.file == inner)
        }
        return outside.isEmpty ? callers : outside
    }

    /// The first part of the path, such as `Sources` or `Tests`.
    private static func folder(of source: StatementRecord.Source) -> Substring {
        source.file.prefix { $0 != "/" }
    }

    /// Returns the statements with these lines as their sources; lines that all executions share also for those
    /// without.
    package static func applied(to records: [StatementRecord]) -> [StatementRecord] {
        let lines = StatementLines(records)
        let places = Dictionary(grouping: records.filter { $0.source != nil }, by: \.sql)
            .compactMapValues { found in
                found.allSatisfy { $0.frames == found[0].frames } ? found[0] : nil
            }
        return records.map { record in
            var record = record
            if record.source == nil, let place = places[record.sql] {
                (record.source, record.callers) = (place.source, place.callers)
            }
            let source = lines.line(of: record)
            record.callers = lines.callers(of: record, source)
            record.source = source
            return record
        }
    }
}

extension StatementRecord {
    var frames: [Source] {
        (source.map { [$0] } ?? []) + (callers ?? []).prefix(StatementLines.mostFrames)
    }

    /// The call of a test that ran the statement, such as `Shop.buy(_:), called at Tests/ShopTests/ShopTests.swift:12`, or
    /// else the outermost line that is known; nil without one.
    package var call: String? {
        let own = frames.prefix { !$0.isInTests }
        guard let outer = own.last ?? frames.first else { return nil }
        let function = outer.function?.replacing(/^(?:closure #\d+ in )+/, with: "")
        let caller = own.isEmpty ? nil : frames[safe: own.count]?.place
        return [function, caller.map { "called at " + $0 } ?? outer.place].compactMap(\.self).joined(
            separator: ", ")
    }

    /// True if a test's own function ran it, without help of other functions of the tests; false if that is unknown.
    func isOfTest(named name: String?) -> Bool {
        let frames = frames.filter(\.isInTests)
        return !frames.isEmpty && frames.allSatisfy { frame in name.map(frame.isIn) ?? false }
    }

    /// The values of the parameters; nil if one of them isn't known as a whole.
    var boundValues: [Value]? {
        guard let values = knownValues, values.allSatisfy({ $0.bytes == nil }) else { return nil }
        return values.map(\.value)
    }

    /// Returns those of some values that are bound to one of its parameters, or are in its text.
    func own(of values: [Value]) -> [Value] {
        let bound = (knownValues ?? []).map(\.value)
        let tokens = SQLText(sql, limit: 2000).tokens
        return values.filter { value in
            bound.contains(value)
                || tokens.contains { token in
                    switch value {
                    case .integer(let number): token.kind == .number && token.text == String(number)
                    case .real(let number): token.kind == .number && Double(token.text) == number
                    case .text(let text): token.kind == .text && token.text == folded(text)
                    case .null, .blob: false
                    }
                }
        }
    }

    /// True if both statements ran in one call of a function, which isn't the test's, as far as their callers tell.
    func isInCall(of other: StatementRecord) -> Bool {
        let (own, others) = (frames, other.frames)
        return own.indices.contains { index in
            let line = own[index]
            return !line.isInTests && line.function != nil
                && others.indices.contains { other in
                    let callers = zip(own[(index + 1)...], others[(other + 1)...])
                    let isSame =
                        callers.underestimatedCount > 0
                        ? callers.allSatisfy(==) : line.line != others[other].line
                    return isSame && line.function == others[other].function
                        && line.file == others[other].file
                }
        }
    }
}

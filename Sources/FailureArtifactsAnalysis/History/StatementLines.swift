package import FailureArtifactsBundle

/// The lines that tell most about each statement of a log.
///
/// In a package that wraps SQLite, the same few lines of the wrapper run all statements. Then the line that called the
/// wrapper is the one that a reader looks for.
package struct StatementLines {
    /// A statement's effect, as far as its text tells.
    private struct Effect: Hashable {
        let kind: StatementOutline.Kind
        let table: String?
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

    package init(_ records: [StatementRecord]) {
        for record in records {
            let frames = record.frames.map(Line.init)
            guard frames.count > 1 else { continue }
            let outline = StatementOutline(record.sql)
            let effect = Effect(kind: outline.kind, table: outline.table)
            for (index, frame) in frames.enumerated().dropLast() {
                effects[frame, default: [:]][Array(frames[(index + 1)...]), default: []].insert(effect)
            }
        }
        for (line, callers) in effects {
            // One call that differs from the others in all that it ran makes the line a wrapper.
            let all = callers.values.reduce(into: Set<Effect>()) { $0.formUnion($1) }
            guard all.count > 1 else { continue }
            let sets = Array(Set(callers.values))
            let isWrapper = sets.indices.contains { first in
                sets[(first + 1)...].contains { $0.isDisjoint(with: sets[first]) }
            }
            if isWrapper { wrappers.insert(line) }
        }
    }

    /// Returns the innermost line that isn't a wrapper's; if all are, the innermost line.
    package func line(of record: StatementRecord) -> StatementRecord.Source? {
        record.frames.first { !wrappers.contains(Line($0)) } ?? record.source
    }

    /// Returns the statements with these lines as their sources.
    package static func applied(to records: [StatementRecord]) -> [StatementRecord] {
        let lines = StatementLines(records)
        return records.map { record in
            var record = record
            record.source = lines.line(of: record)
            return record
        }
    }
}

extension StatementRecord {
    /// The lines that were running, the innermost first.
    fileprivate var frames: [Source] { (source.map { [$0] } ?? []) + (callers ?? []) }
}

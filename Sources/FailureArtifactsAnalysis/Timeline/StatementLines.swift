internal import CFailureArtifactsSQLite
package import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

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
}

/// SQLite's plans for running statements, from `EXPLAIN QUERY PLAN`.
package enum QueryPlan {
    /// The maximum number of lines of a plan; a longer one ends with `…`.
    static let maximumLines = 20
    /// The number of full-scan steps above which a statement gets a plan.
    private static let threshold = 1000
    /// The maximum number of different statements of a store that get a plan.
    private static let maximumPlans = 32
    /// The maximum number of names that SQLite resolves to compile them all: nested views can have any number.
    private static let maximumNames = 10_000

    /// Adds the plans of the costliest statements of a store, from its copy in a bundle.
    package static func add(
        to records: inout [StatementRecord], of store: BundleMetadata.Store, in bundle: BundleReader,
        below directory: String
    ) throws {
        guard let entry = store.entry, records.contains(where: needsPlan) else { return }
        let path = Path.join(directory, "planned.sqlite")
        defer { try? FileSystem.remove(path) }
        try bundle.extract(entryNamed: entry, toNewFile: path)
        add(to: &records, from: try Connection.untrusted(path))
    }

    private static func needsPlan(_ record: StatementRecord) -> Bool {
        record.cut != true && record.queryPlan == nil && record.fullScanSteps ?? 0 > threshold
    }

    /// Adds the plans of the costliest statements, which are not run, if SQLite can compile them on the copy.
    ///
    /// The lines are indented by two spaces per level. The connection has no authorizer.
    static func add(to records: inout [StatementRecord], from connection: borrowing Connection) {
        var steps: [String: Int] = [:]
        for record in records where needsPlan(record) {
            steps[record.sql] = max(steps[record.sql] ?? 0, record.fullScanSteps ?? 0)
        }
        guard !steps.isEmpty else { return }
        let costliest = steps.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(maximumPlans)
        var plans: [String: [String]] = [:]
        var names = maximumNames
        withUnsafeMutablePointer(to: &names) { names in
            sqlite3_set_authorizer(
                connection.handle,
                { context, action, _, _, _, _ in
                    guard let names = context?.assumingMemoryBound(to: Int.self) else {
                        return SQLITE_DENY
                    }
                    names.pointee -= 1
                    // SQLite runs some pragmas while it compiles them.
                    let isRowsOnly = [
                        SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION, SQLITE_RECURSIVE, SQLITE_INSERT,
                        SQLITE_UPDATE, SQLITE_DELETE,
                    ].contains(action)
                    return names.pointee > 0 && isRowsOnly ? SQLITE_OK : SQLITE_DENY
                }, names)
            for (sql, _) in costliest { plans[sql] = try? plan(of: sql, in: connection) }
            sqlite3_set_authorizer(connection.handle, nil, nil)
        }
        for index in records.indices where records[index].queryPlan == nil {
            let plan = plans[records[index].sql] ?? []
            if !plan.isEmpty { records[index].queryPlan = plan }
        }
    }

    private static func plan(
        of sql: String, in connection: borrowing Connection
    ) throws(SQLiteError) -> [String] {
        let statement = try connection.prepare("EXPLAIN QUERY PLAN " + sql)
        var lines: [String] = []
        var depths: [Int64: Int] = [:]
        // The columns are the line's number, the number of the line above it, an unused one and the text.
        while try statement.step() {
            guard lines.count < maximumLines else { return lines.dropLast() + ["…"] }
            guard case .text(let text) = statement.value(at: 3) else { continue }
            let depth = depths[statement.integer(at: 1)].map { $0 + 1 } ?? 0
            depths[statement.integer(at: 0)] = depth
            lines.append(String(repeating: "  ", count: depth) + text)
        }
        return lines
    }
}

internal import FailureArtifactsBundle

/// The comparison of a failing test's statements with those of its last passing runs.
struct BaselineComparison {
    let differences: [RunComparison.Difference]
    /// True if the lack of a difference says something: values and statements of both runs are known.
    let isConclusive: Bool
    /// True if the failing run is of the same code as the passing one.
    let isOfSameCode: Bool
    private let passing: [ComparedRun.Execution]
    private let failing: [ComparedRun.Execution]
    /// The query with which the passing run went on after all that the failing run ran; nil without one, or if a line of
    /// the tests is known to have run it.
    let next: StatementRecord?
    /// The indices of the failing run's last statements that read each table.
    private let lastReads: [String: Int]

    /// Returns nil without a baseline, or if a run has no statements.
    ///
    /// - `own`: the failing run.
    /// - `common`: the differences that passing tests have from their baselines, too.
    /// - `place`: the place of the failed assertion; nil if it is unknown.
    /// - `views`: the tables that views read, by the views' folded names.
    init?(
        _ own: Baseline, _ baselines: [Baseline], common: Set<CommonDifference>,
        failedAt place: FailureEvidence.Place? = nil, views: [String: Set<String>] = [:]
    ) {
        var texts = ComparedTexts()
        let runs = baselines.map { passing in
            let end = place.flatMap { Self.end(of: passing.statements, at: $0, in: own.statements) }
            let statements = passing.statements.prefix(end?.index ?? passing.statements.count)
            return ComparedRun(
                Array(statements), at: passing.at, isWhole: end?.isCertain ?? false, &texts)
        }
        let run = ComparedRun(own.statements, at: own.at, &texts)
        guard let newest = runs.first, !newest.executions.isEmpty, !run.executions.isEmpty else {
            return nil
        }
        (passing, failing) = (newest.executions, run.executions)
        var lastReads: [String: Int] = [:]
        for (index, execution) in failing.enumerated() {
            let (text, written) = (execution.text, execution.text.outline.table)
            for table in text.tables
            where text.outline.isSelect || text.outline.isWrite && table != written {
                for read in (views[table] ?? []).union([table]) { lastReads[read] = index }
            }
        }
        self.lastReads = lastReads
        // A service that names the commit has checked it out.
        isOfSameCode =
            baselines[0].isOfSameBuild || own.commit != nil && own.commit == baselines[0].commit
        var noise: Set<RunComparison.Noise> = []
        for (run, other) in zip(runs, runs.dropFirst()) {
            noise.formUnion(RunComparison.noise(between: run, and: other))
        }
        differences = RunComparison.differences(
            from: newest, to: run, without: noise, common: isOfSameCode ? nil : common)
        let further = differences.isEmpty ? newest.executions[safe: run.executions.count] : nil
        next = further.flatMap { execution in
            execution.text.outline.isSelect && !execution.record.frames.contains(where: \.isInTests)
                ? execution.record : nil
        }
        isConclusive = [newest, run].allSatisfy { run in
            // Redactions and settings leave out all values.
            let known = run.executions.filter { $0.text.hasParameters }
            return known.isEmpty || known.contains { $0.record.values != nil }
        }
    }

    /// Returns the end of a passing run's statements up to an assertion with which the failing run ended; nil if it is
    /// unknown, and uncertain if the assertion's call may have run fewer statements.
    private static func end(
        of passing: [StatementRecord], at place: FailureEvidence.Place, in failing: [StatementRecord]
    ) -> (index: Int, isCertain: Bool)? {
        let count = failing.count(where: place.isCaller(of:))
        let indices = passing.indices.filter { place.isCaller(of: passing[$0]) }
        // The failing run may have called the assertion several times without a statement.
        if count == 0, indices.count == 1 { return (indices[0] + 1, true) }
        if count == 0, indices.isEmpty {
            func isAfter(_ record: StatementRecord) -> Bool? {
                record.frames.last(where: \.isInTests).flatMap {
                    $0.file == place.file ? $0.line > place.line : nil
                }
            }
            if failing.contains(where: { isAfter($0) == true }) { return nil }
            let last = passing.lastIndex { isAfter($0) == false } ?? -1
            return passing[(last + 1)...].firstIndex { isAfter($0) == true }.map { ($0, false) }
        }
        guard count > 0, let last = indices[safe: count - 1],
            !(failing + passing).contains(where: { $0.repeated != nil && place.isCaller(of: $0) })
        else { return nil }
        // The assertion's call may have run more statements.
        return passing[last...].firstIndex { !place.isCaller(of: $0) }.map { ($0, false) }
    }

    /// Returns the statements before a difference in the passing run and in the failing one.
    func neighbors(of difference: RunComparison.Difference) -> (
        then: ComparedRun.Execution?, now: ComparedRun.Execution?
    ) {
        (
            difference.passingPosition.flatMap { passing[safe: $0 - 1] },
            failing[safe: difference.position - 1]
        )
    }

    /// Returns the tables that a difference is about; of a statement that begins or ends a transaction, those that the
    /// transaction wrote.
    func tables(of difference: RunComparison.Difference) -> Set<String> {
        let (run, position) =
            difference.failing == nil
            ? (passing, difference.passingPosition) : (failing, difference.position)
        guard let end = position, let statement = run[safe: end], statement.text.isControl else {
            return difference.tables
        }
        let own = run.indices.filter { run[$0].record.connection == statement.record.connection }
        let isForward = statement.text.outline.kind == .begin
        let others = isForward ? own.filter { $0 > end } : own.filter { $0 < end }.reversed()
        let part = others.prefix { index in
            ![.begin, .commit, .rollback].contains(run[index].text.outline.kind)
        }
        return part.reduce(into: []) { tables, index in
            if run[index].text.isWrite { tables.formUnion(run[index].text.tables) }
        }
    }

    /// True if the failing run read one of a difference's tables later.
    func isReadLater(_ difference: RunComparison.Difference) -> Bool {
        tables(of: difference).contains { lastReads[$0] ?? -1 >= difference.position }
    }

    /// True if another text of a statement can have an effect in the failing run: it changed a row, or defines a trigger that
    /// a later statement started.
    func isEffectiveEdit(_ difference: RunComparison.Difference) -> Bool {
        guard difference.kind == .text, let execution = difference.failing,
            execution.text.shapeNumber != difference.passing?.text.shapeNumber
        else { return false }
        guard let event = execution.text.event else {
            return !execution.text.outline.isWrite
                || failing.contains { $0.text === execution.text && $0.record.changes ?? 1 > 0 }
        }
        return failing[difference.position...].contains {
            $0.text.outline.kind == event.kind && $0.text.outline.table == event.table
                && $0.record.changes ?? 1 > 0
        }
    }

    /// True if a statement of the failing run has a text that the passing run doesn't have.
    func isOtherText(_ order: UInt64) -> Bool {
        failing.first { $0.record.order == order }.map { own in
            !passing.contains { $0.text.text == own.text.text }
        } ?? true
    }

    /// The number of the failing run's first statement.
    var start: UInt64 { failing[0].record.order }

    /// The number of the statement at which a difference was made.
    func order(of difference: RunComparison.Difference) -> UInt64 {
        (failing[safe: difference.position] ?? failing[failing.count - 1]).record.order
    }

    /// Returns the statement of a difference; a missing one has the line of the failing run beside its place.
    func record(of difference: RunComparison.Difference) -> StatementRecord? {
        guard difference.failing == nil, var record = difference.passing?.record else {
            return difference.failing?.record
        }
        // The numbers are those of the passing run.
        (record.changes, record.ownChanges, record.fullScanSteps, record.sorts, record.autoIndexes) = (
            nil, nil, nil, nil, nil
        )
        let place = difference.position
        let neighbors = [failing[safe: place], failing[safe: place - 1]].compactMap { $0?.record }
        let other =
            neighbors.first { $0.source != nil && $0.source?.function == record.source?.function }
            ?? neighbors.first { neighbor in
                // The function that ran the missing statement may have lost its call.
                neighbor.source?.file == record.source?.file
            }
        guard let other else { return record }
        (record.source, record.callers) = (other.source, other.callers)
        return record
    }
}

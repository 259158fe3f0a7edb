internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Changes in a transaction that was still open at the failure, which only one connection sees.
enum OpenTransaction: FindingRule {
    static let code = Finding.Code.openTransaction

    static func findings(in store: Timeline, of failure: FailureEvidence) throws -> [Finding] {
        let open = store.openTransactions.map { (start: $0[0], writes: $0.filter(\.hasChangedRows)) }
        return open.sorted { $0.writes[0].order < $1.writes[0].order }
            .compactMap { finding($0.writes, begunBy: $0.start, in: store, failure) }
    }

    private static func finding(
        _ writes: [Timeline.Statement], begunBy start: Timeline.Statement,
        in store: Timeline, _ failure: FailureEvidence
    ) -> Finding? {
        guard let last = writes.last, last.record.phase == .test else { return nil }
        let connection = last.record.connection
        // Another connection that read a changed table afterwards didn't see the changes.
        let tables = Set(writes.compactMap(\.outline.table))
        let reader = store.testStatements.last { statement in
            statement.record.connection != connection && statement.order > last.order
                && statement.outline.isQuery
                && !tables.isDisjoint(with: statement.outline.words)
        }
        let step = store.steps.last.flatMap { $0.number == nil ? $0 : nil }
        let rows = step?.tables.flatMap { table in
            table.rows.prefix(5).map { Timeline.row($0, in: table) }
        }
        var counts: [String] = []
        for (kind, verb) in [
            (StatementOutline.Kind.insert, "inserted into"), (.update, "updated in"),
            (.delete, "deleted from"),
        ] {
            for table in tables.sorted() {
                let matching = writes.filter { $0.outline.kind == kind && $0.outline.table == table }
                let count = matching.reduce(0) { $0 + ($1.record.changedRows ?? 1) }
                let name = store.schema.tables[table]?.name ?? table
                if count > 0 { counts.append("\(Counted.items(Int64(count), "row")) \(verb) \(name)") }
            }
        }
        var finding = Finding(
            code: code, title: "Not committed: " + counts.joined(separator: ", "),
            confidence: .possible, store: store.name,
            rows: Array((rows ?? []).prefix(10)), statement: last.record,
            explanation: (reader.map {
                "Connection \($0.record.connection) read the store afterwards and can't have seen the changes of "
                    + "connection \(connection)."
            }
                ?? (store.isKnownToBeOpen
                    ? "A transaction of connection \(connection) was open at the failure. Only that connection sees the "
                        + "changes."
                    : "The log has no COMMIT of a transaction of connection \(connection)."))
                + beginning(start),
            evidence: reader == nil ? .other : .loss)
        // With the changes, the question has the expected result.
        if reader != nil, store.asked.isAnswered { finding.confidence = .likely }
        return finding
    }

    private static func beginning(_ start: Timeline.Statement) -> String {
        guard let source = start.record.source else { return "" }
        let word = start.outline.kind == .savepoint ? "SAVEPOINT" : "BEGIN"
        let function = source.function.map { " in " + SafeText.line($0) } ?? ""
        return " The transaction began with \(word) at \(SafeText.line(source.place))\(function)."
    }
}

/// Changes that a rollback discarded, with the error that caused it.
enum RolledBack: FindingRule {
    static let code = Finding.Code.rolledBack

    static func findings(in store: Timeline, of failure: FailureEvidence) throws -> [Finding] {
        Array(store.rolledBackTransactions().compactMap { finding($0, in: store, failure) }.suffix(3))
    }

    private static func finding(
        _ attempt: Timeline.RolledBackTransaction, in store: Timeline,
        _ failure: FailureEvidence
    ) -> Finding? {
        let writes = attempt.writes
        guard !writes.isEmpty else { return nil }
        let names = writes.compactMap {
            $0.outline.table.flatMap { store.schema.tables[$0]?.name }
        }
        var tables: [String] = []
        for name in names where !tables.contains(name) { tables.append(name) }
        let rows = writes.reduce(0) { $0 + ($1.record.changedRows ?? 0) }
        var lost: [Finding.Row] = []
        if let step = store.steps.last, step.number == nil, let first = step.statements.first,
            attempt.statements.contains(where: { $0.order == first.order })
        {
            lost = step.tables.flatMap { table in
                table.rows.prefix(5).map { Timeline.row($0, in: table) }
            }
        }
        let isRead = !store.asked.tables.isDisjoint(with: tables.map(folded))
        let subject =
            rows > 0
            ? "\(Counted.items(Int64(rows), "change")) in \(tables.isEmpty ? "the store" : tables.joined(separator: ", "))"
            : "A transaction"
        let verb = rows > 1 ? "were" : "was"
        return Finding(
            code: code, title: "\(subject) \(verb) rolled back",
            confidence: confidence(attempt, failure.message), store: store.name,
            rows: Array(lost.prefix(10)),
            statement: (attempt.error ?? writes.last ?? attempt.end).record,
            explanation: explanation(attempt),
            evidence: isRead ? .loss : .other)
    }

    private static func confidence(
        _ attempt: Timeline.RolledBackTransaction, _ message: FailureMessage
    ) -> Finding.Confidence {
        guard let error = attempt.error else { return .possible }
        if error.outline.kind == .commit {
            // The row that made it fail is another finding, and tells more.
            return message.text.contains(error.record.sql) ? .likely : .possible
        }
        return error.record.error.map(message.names) == true ? .certain : .possible
    }

    private static func explanation(_ attempt: Timeline.RolledBackTransaction) -> String {
        guard let error = attempt.error else {
            return attempt.isWhole
                ? "The transaction ended with ROLLBACK. The log has no error of its statements."
                : "ROLLBACK TO undid what was changed since a savepoint. The log has no error of its statements."
        }
        let message = error.record.error.map { SafeText.line($0.message) }
        guard error.outline.kind != .commit else {
            return "Its COMMIT failed"
                + (message.map { ": \($0)." }
                    ?? ", because a row violated a deferred foreign key or the database was locked.")
        }
        return
            "A statement of the transaction failed: \(message ?? ""). The changes before it are lost, too."
    }
}

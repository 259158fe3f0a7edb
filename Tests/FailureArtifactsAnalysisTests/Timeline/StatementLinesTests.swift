import FailureArtifactsBundle
import FailureArtifactsReading
import Testing

@testable import FailureArtifactsAnalysis

@Suite struct StatementLinesTests {
    /// Returns a statement that was run by these lines, the innermost first.
    private func record(_ sql: String, _ lines: String...) -> StatementRecord {
        var record = StatementRecord(
            at: "", changes: 1, connection: 1, order: 1, phase: .test, sql: sql, thread: "1")
        let sources = lines.map {
            StatementRecord.Source(
                file: "Sources/" + $0.prefix(1), function: nil, line: Int($0.dropFirst()) ?? 0)
        }
        record.source = sources.first
        record.callers = sources.count > 1 ? Array(sources.dropFirst()) : nil
        return record
    }

    private func lines(_ records: [StatementRecord]) -> [String] {
        StatementLines.applied(to: records).map {
            $0.source.map { "\($0.file.dropFirst(8))\($0.line)" } ?? ""
        }
    }

    @Test func aWrapperIsReplacedByItsCaller() {
        #expect(
            lines([
                record("INSERT INTO a VALUES (1)", "W1", "W2", "A1", "T1"),
                record("UPDATE b SET c = 1", "W1", "W2", "B1", "T2"),
                record("UPDATE b SET c = 1", "W1", "W2", "B1", "T3"),
            ]) == ["A1", "B1", "B1"])
    }

    @Test func aFunctionThatAlwaysRunsTheSameIsNoWrapper() {
        #expect(
            lines([
                record("INSERT INTO a VALUES (1)", "A1", "T1"),
                record("INSERT INTO a VALUES (2)", "A1", "T2"),
                // A record is updated or else inserted at the same line.
                record("UPDATE b SET c = 1", "B1", "T1"), record("INSERT INTO b VALUES (1)", "B1", "T1"),
                record("UPDATE b SET c = 1", "B1", "T2"),
            ]) == ["A1", "A1", "B1", "B1", "B1"])
    }

    @Test func aStackThatWasCutIsNoFurtherCaller() {
        #expect(
            lines([
                record("UPDATE b SET c = 1", "B1", "S1", "T1"),
                record("INSERT INTO b VALUES (1)", "B1", "S1"),
            ]) == ["B1", "B1"])
    }

    @Test func otherLinesOfTheWrappersFileArePassedOver() {
        #expect(
            lines([
                record("INSERT INTO a VALUES (1)", "W1", "W2", "A1", "T1"),
                record("UPDATE b SET c = 1", "W1", "W2", "B1", "T2"),
                // Used once only, so that nothing else shows that it belongs to the wrapper.
                record("SELECT * FROM c", "W1", "W9", "C1", "T2"), record("SELECT * FROM d", "W8", "T3"),
            ]) == ["A1", "B1", "C1", "T3"])
    }

    /// The wrapper's `transaction(_:)` calls a closure, which calls the wrapper.
    @Test func callersInTheWrapperArePassedOver() {
        let records = StatementLines.applied(to: [
            record("BEGIN", "W2", "A1", "T1"),
            record("INSERT INTO a VALUES (1)", "W1", "A2", "W3", "A1", "T1"),
            record("UPDATE b SET c = 1", "W1", "B2", "W3", "B1", "T2"),
        ])
        #expect(
            records.map { record in
                (record.callers ?? []).map { "\($0.file.dropFirst(8))\($0.line)" }
            }.dropFirst() == [["A2", "A1", "T1"], ["B2", "B1", "T2"]])
        #expect(records.dropFirst().map { $0.callerInAnotherFile?.file } == ["Sources/T", "Sources/T"])
    }

    @Test func aWrapperMayRunEachStatementInATransaction() {
        #expect(
            lines([
                record("BEGIN IMMEDIATE", "W2", "S1", "T1"),
                record("PRAGMA query_only", "W2", "S1", "T1"),
                record("INSERT INTO a VALUES (1)", "W1", "W2", "S1", "T1"),
                record("COMMIT", "W2", "S1", "T1"), record("BEGIN IMMEDIATE", "W2", "S1", "T2"),
                record("PRAGMA query_only", "W2", "S1", "T2"),
                record("INSERT INTO b VALUES (1)", "W1", "W2", "S1", "T2"),
                record("COMMIT", "W2", "S1", "T2"),
            ]) == ["T1", "T1", "T1", "T1", "T2", "T2", "T2", "T2"])
    }

    @Test func withoutCallersTheLineStays() {
        #expect(
            lines([record("BEGIN", "W1"), record("COMMIT", "W1"), record("SELECT 1")]) == [
                "W1", "W1", "",
            ])
    }

    /// A loop has lines for some of its executions.
    @Test func executionsOfOneTextFromOnePlaceShareTheLine() {
        let text = "INSERT INTO t VALUES (?)"
        #expect(lines([record(text, "W1"), record(text), record(text, "W1")]) == ["W1", "W1", "W1"])
        #expect(lines([record(text, "W1"), record(text), record(text, "X2")]) == ["W1", "", "X2"])
    }
}

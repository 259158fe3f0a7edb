import FailureArtifactsBundle
import FailureArtifactsSQLite
import Testing

/// The lines of `baseline.jsonl`.
@Suite struct BaselineTests {
    private static func version(_ commit: String?, _ texts: [String]) -> Baseline {
        let at = "2026-11-28T12:04:00.000000Z"
        let statements = texts.enumerated().map { index, sql in
            var record = StatementRecord(
                at: at, changes: nil, connection: 1, order: UInt64(index + 1), phase: .test, sql: sql,
                thread: "")
            record.values = [BoundValue(.integer(7))]
            return record
        }
        return Baseline(at: at, commit: commit, statements: statements)
    }

    /// A working directory that is gone has no path.
    @Test(arguments: ["", ".", "a/b"]) func aRelativePathIsInNoRepository(path: String) {
        #expect(CheckedOutCommit.current(in: path) == nil)
    }

    @Test func linesAreReadAsTheyWereWritten() {
        var versions = [
            Self.version("3f2a9c1", ["SELECT 1", "SELECT '\n\"baseline\":{'"]), Self.version(nil, []),
        ]
        (versions[0].common, versions[0].isOfSameBuild) = (
            [CommonDifference(shape: "SELECT ?", parameter: 2)], true
        )
        #expect(Baseline.versions(in: Baseline.lines(of: versions)) == versions)
        #expect(Baseline.versions(in: []) == [])
    }

    @Test(
        arguments: [
            StatementRecord.lines(of: version(nil, ["SELECT 1"]).statements),
            Baseline.lines(of: Array(repeating: version(nil, []), count: 3)),
            Baseline.lines(of: [version(nil, [])]) + Array("{}\n".utf8),
        ])
    func otherLinesAreRefused(_ lines: [UInt8]) {
        #expect(Baseline.versions(in: lines) == nil)
    }

    /// The differences of passing tests, which a failing one may share.
    @Test func differencesOfPassingTestsHaveParts() {
        func record(_ sql: String, _ values: [Value] = [], changes: Int? = nil) -> StatementRecord {
            var record = StatementRecord(
                at: "2026-11-28T12:04:00.000000Z", changes: changes, connection: 1, order: 1,
                phase: .test, sql: sql, thread: "")
            record.values = values.map { BoundValue($0) }
            return record
        }
        func uuid(_ digit: Character) -> Value {
            .text("8F14E45F-CEEA-467F-9B4A-" + String(repeating: digit, count: 12))
        }
        let insert = "INSERT INTO note VALUES (?, ?, ?)"
        let update = "UPDATE note SET text = ?"
        let then = [
            record("BEGIN"), record(insert, [uuid("1"), .text("a"), .text("2026-03-01 12:04")]),
            record("COMMIT"), record(update, [.text("x")], changes: 1), record("SELECT 1"),
        ]
        let now = [
            record("SELECT 2"), record("BEGIN"), record("COMMIT"), record("BEGIN"),
            record(insert, [uuid("2"), .text("b"), .text("2026-11-01 09:00")]),
            record("COMMIT"), record(update, [.text("x")], changes: 2),
        ]
        #expect(
            CommonDifference.all(from: then, to: now) == [
                CommonDifference(shape: "BEGIN"), CommonDifference(shape: "COMMIT"),
                CommonDifference(shape: "SELECT ?"),
                CommonDifference(shape: StatementShape(insert).shape, parameter: 1),
                CommonDifference(shape: StatementShape(update).shape, effect: true),
            ])
        #expect(CommonDifference.all(from: then, to: then.reversed()) == [])
    }
}

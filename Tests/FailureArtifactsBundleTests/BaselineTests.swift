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

    @Test func linesAreReadAsTheyWereWritten() {
        var versions = [
            Self.version("3f2a9c1", ["SELECT 1", "SELECT '\n\"baseline\":{'"]), Self.version(nil, []),
        ]
        (versions[0].common, versions[0].isOfSameBuild) = (["SELECT ?"], true)
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
}

import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsBundle

/// Query plans, which the packer adds to costly statements.
@Suite struct StatementPlansTests {
    private static let scan = "SELECT * FROM posting ORDER BY cents"
    private static let plan = ["SCAN posting", "USE TEMP B-TREE FOR ORDER BY"]

    private func record(
        _ sql: String = scan, steps: Int?, _ change: (inout StatementRecord) -> Void = { _ in }
    ) -> StatementRecord {
        var record = StatementRecord(
            at: "2026-11-21T07:08:09.123456Z", changes: 0, connection: 1, order: 1, phase: .test,
            sql: sql, thread: "7f")
        record.fullScanSteps = steps
        change(&record)
        return record
    }

    /// Packs a bundle and returns the lines of its log.
    private func packed(_ lines: [UInt8], hasCopy: Bool = true) throws -> [UInt8] {
        let place = try Place()
        let staging = try StagingReservation(
            in: place.directory, within: DirectoryLimits(storeBytes: 1, totalBytes: 1 << 20, bundles: 1)
        ).staging
        try Connection(path: staging.path(ofEntry: "stores/a.sqlite"), mode: .create).execute(
            "CREATE TABLE posting (id INTEGER PRIMARY KEY, cents)")
        try FileSystem.write(lines, toNewFile: staging.path(ofEntry: "statements/a.jsonl"))
        var metadata = place.metadata(["stores/a.sqlite"])
        metadata.stores[0].statements = .init(entry: "statements/a.jsonl", count: 1)
        if !hasCopy { metadata.stores[0].entry = nil }
        let file = try BundlePacker.pack(metadata, from: staging)
        let reader = try BundleReader(BundleLocation(path: file), scratchDirectory: place.root)
        return try reader.archive.contents(
            of: reader.entry(named: "statements/a.jsonl"), limit: 64 << 20)
    }

    private func plans(_ records: [StatementRecord], hasCopy: Bool = true) throws -> [[String]?] {
        let lines = try packed(StatementRecord.lines(of: records), hasCopy: hasCopy)
        return try #require(StatementRecord.records(in: lines)).map(\.queryPlan)
    }

    @Test func statementsOfMoreThanAThousandStepsHavePlans() throws {
        let records = [nil, -1, 0, 999, 1000, 1001, 20_000, .max].map { record(steps: $0) }
        #expect(
            try plans(records) == [nil, nil, nil, nil, nil, Self.plan, Self.plan, Self.plan])
    }

    @Test func incompleteStatementsHaveNone() throws {
        #expect(
            try plans([record(steps: 2000) { $0.cut = true }, record(steps: 2000)]) == [nil, Self.plan])
    }

    @Test func withoutACopyThereAreNone() throws {
        #expect(try plans([record(steps: 2000)], hasCopy: false) == [nil])
    }

    @Test func theCostliestStatementsAreExplainedOnce() throws {
        let others = (1...50).map { record("SELECT \($0) FROM posting", steps: 2000 + $0) }
        let same = (1...500).map { record(steps: $0 == 250 ? 9000 : 1500) }
        let plans = try plans(others + same)
        // 31 of the others and the one that is there 500 times.
        #expect(plans.prefix(19).allSatisfy { $0 == nil })
        #expect(plans[19..<50].allSatisfy { $0 == ["SCAN posting"] })
        #expect(plans.suffix(500).allSatisfy { $0 == Self.plan })
    }

    @Test func manyStatementsTakeLittleTime() throws {
        let start = Instant.now
        var records = (1...20_000).map { record("SELECT \($0) FROM posting", steps: 2000 + $0) }
        let place = try Place()
        let path = Path.join(place.root, "a.sqlite")
        try Connection(path: path, mode: .create).execute("CREATE TABLE posting (id)")
        StatementRecord.addPlans(to: &records, fromCopyAt: path)
        #expect(records.filter { $0.queryPlan != nil }.count == StatementRecord.maximumPlans)
        #expect(start.elapsed < 10)
    }

    /// A log to which nothing is added isn't decoded, so it may hold anything.
    @Test(arguments: [
        ",\"fullScanSteps\":1000}\n,\"fullScanSteps\":,\"fullScanSteps\":-9999",
        "{\"sql\":\",\\\"stack\\\":[1],\\\"fullScanSteps\\\":2000\"}", "", "\u{0}\u{7F}",
        ",\"fullScanSteps\":99999999999999999999999",
    ])
    func otherLogsAreKeptAsTheyAre(_ text: String) throws {
        #expect(!StatementRecord.isIncomplete(Array(text.utf8)))
        #expect(try packed(Array(text.utf8)) == Array(text.utf8))
    }

    @Test func incompleteLogsAreFoundWithoutDecodingThem() {
        let done = record(steps: 1000) { $0.sql = ",\"stack\":[1],\"fullScanSteps\":2000" }
        #expect(!StatementRecord.isIncomplete(StatementRecord.lines(of: [done])))
        #expect(StatementRecord.isIncomplete(StatementRecord.lines(of: [done, record(steps: 1001)])))
        #expect(
            StatementRecord.isIncomplete(
                StatementRecord.lines(of: [done, record(steps: 1) { $0.stack = [1] }])))
    }
}

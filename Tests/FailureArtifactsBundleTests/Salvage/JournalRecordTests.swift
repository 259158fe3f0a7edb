import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsBundle

@Suite struct JournalRecordTests {
    private let records: [JournalRecord] = [
        .process(
            BundleMetadata.Environment(
                operatingSystem: "Linux 6 (a\tb)", architecture: "x86_64", swift: "6.3",
                sqlite: "3.40.1",
                processID: 42,
                ci: .init(service: "GitLab CI", variables: ["CI_JOB_ID": "1", "CI_COMMIT_SHA": ""]))),
        .redactions("{\"tables\":[\"a\\tb\"]}"),
        .began(
            1,
            BundleMetadata.Test(
                framework: "Swift Testing", suite: "果物", name: "sum(of:)",
                arguments: ["\\n", "a\nb", ""],
                attempt: 3), at: Timestamp(seconds: 1_700_000_000, milliseconds: 7)),
        .began(
            2, BundleMetadata.Test(framework: "XCTest", suite: "S", name: "t"),
            at: Timestamp(seconds: 1)),
        .began(
            3, BundleMetadata.Test(framework: "XCTest", suite: "S", name: "t", arguments: []),
            at: Timestamp(seconds: 1)),
        .opened(path: "/tmp/a \\ \t \n \u{1F34E}.sqlite", by: 1), .opened(path: nil, by: 2),
        .opened(path: "/tmp/shared", by: 0), .ended(1),
    ]

    @Test func whatIsWrittenIsRead() {
        #expect(JournalRecord.records(in: Array(records.map(\.line).joined().utf8)) == records)
    }

    /// What is written in C is what is read in Swift, whatever the names.
    @Test func hostileNamesAreRead() {
        let seed: UInt64 = 20_261_122
        var dice = Dice(seed: seed)
        let pieces = [
            "", "\\", "\t", "\n", "\r", "\u{0}", ".", "\\t", "\\n", "\\\\", "a", "果物", "\u{1F34E}",
            "\u{301}",
            String(repeating: "x", count: 3000),
        ]
        func name() -> String {
            (0..<dice.next(6)).map { _ in pieces[dice.next(pieces.count)] }.joined()
        }
        for _ in 0..<500 {
            let id = dice.next(2) == 0 ? UInt64.max : UInt64(dice.next(100))
            let test = BundleMetadata.Test(
                framework: name(), suite: name(), name: name(),
                arguments: dice.next(2) == 0 ? nil : (0..<dice.next(3)).map { _ in name() },
                attempt: dice.next(1000))
            let date = Timestamp(
                seconds: dice.next(2) == 0 ? .min : Int64(dice.next(1 << 30)),
                milliseconds: Int32(dice.next(1000)))
            // A path ends where C says that it ends.
            let path = name().filter { $0 != "\u{0}" }
            let some: [JournalRecord] = [
                .began(id, test, at: date), .opened(path: path, by: id), .opened(path: nil, by: id),
                .redactions(name()), .ended(id),
            ]
            #expect(JournalRecord.records(in: bytes(of: some)) == some, "seed \(seed)")
        }
    }

    /// Lines are not made anew for each journal: nothing of earlier ones may be left.
    @Test func linesThatAreUsedAgainBeginEmpty() {
        let lines = JournalLines()
        for record in records {
            lines.clear()
            #expect(lines.bytes?.isEmpty == true)
            lines.add(record)
            let count = lines.count
            lines.addEnd()
            #expect(lines.bytes.map { JournalRecord.records(in: Array($0)) } == [record])
            #expect(
                lines.bytes.map { String(decoding: $0[count...], as: UTF8.self) } == JournalRecord.end)
        }
    }

    private func bytes(of records: [JournalRecord]) -> [UInt8] {
        let lines = JournalLines()
        for record in records { lines.add(record) }
        return lines.bytes.map { Array($0) } ?? []
    }

    /// The process may have died after any byte.
    @Test func aTornLineDoesNotCount() {
        let lines = records.map { Array($0.line.utf8) }
        let all = lines.flatMap(\.self)
        for count in 0...all.count {
            var (whole, end) = (0, 0)
            while whole < lines.count, end + lines[whole].count <= count {
                end += lines[whole].count
                whole += 1
            }
            #expect(JournalRecord.records(in: Array(all[..<count])) == Array(records[..<whole]))
        }
    }

    @Test func aTestInFlightHasItsStoresAndThoseOfNobody() {
        let process = ProcessIdentity(number: 42, start: 7)
        let tests = InFlightTest.all(in: Array(records.map(\.line).joined().utf8), of: process)
        #expect(tests.map(\.id) == [2, 3])
        #expect(tests.first?.hasMemoryStores == true && tests.last?.hasMemoryStores == false)
        #expect(tests.allSatisfy { $0.paths == [.init(path: "/tmp/shared", isShared: true)] })
        #expect(tests.allSatisfy { $0.environment?.processID == 42 && $0.process == process })
    }

    @Test func whatFollowsTheEndIsOfThePast() {
        let bytes = Array(records.map(\.line).joined().utf8)
        let old = Array(JournalRecord.ended(9).line.utf8)
        #expect(JournalRecord.records(in: bytes + JournalRecord.end.utf8 + old) == records)
        #expect(JournalRecord.records(in: JournalRecord.end.utf8 + bytes).isEmpty)
    }

    /// Whatever the bytes, there is an answer.
    @Test func noiseIsNoRecord() {
        var dice = Dice(seed: 20_261_121)
        for _ in 0..<2000 {
            var bytes = Array(records.map(\.line).joined().utf8)
            for _ in 0..<5 { bytes[dice.next(bytes.count)] = UInt8(dice.next(256)) }
            _ = InFlightTest.all(in: bytes, of: ProcessIdentity(number: 1, start: 1))
        }
    }
}

/// Numbers that are the same in each run.
private struct Dice {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % bound
    }
}

import FailureArtifactsSQLite
import FailureArtifactsTestPrograms
import Foundation
import Testing

@testable import FailureArtifactsBundle

/// The lines of `statements/<name>.jsonl`.
@Suite struct StatementRecordTests {
    private static let odd = "SELECT 'ä🙂\u{1}\u{1F}\u{7F}\u{2028}\t\"\\/',\r\n  2"

    private func record(_ change: (inout StatementRecord) -> Void = { _ in }) throws -> StatementRecord {
        let line = """
            {"at":"2026-11-21T07:08:09.123Z","connection":1,"order":7,"phase":"test","sql":"","thread":"7f"}
            """
        var record = try #require(StatementRecord.records(in: Array(line.utf8))?.first)
        change(&record)
        return record
    }

    @Test func linesAreReadAsTheyWereWritten() throws {
        let records = [
            try record(),
            try record {
                $0.sql = Self.odd
                $0.changes = 3
                $0.cut = true
                $0.duration = 0.000_001_5
                $0.phase = .earlier
                $0.connection = .max
                $0.autoIndexes = 1
                $0.fullScanSteps = 2000
                $0.leftOpen = true
                $0.ownChanges = 2
                $0.pages = 4
                $0.sorts = 0
                $0.source = .init(file: "Sources/\"ä\".swift", function: "Ledger.split(_:)", line: 42)
                $0.stack = [1, 1 << 47]
                $0.versions = 2
                $0.values = Self.values
                $0.longValues = true
                $0.test = 12
                $0.repeated = 40
                $0.lastOrder = .max
                $0.error = try? JSONDecoder().decode(
                    StatementRecord.Failure.self,
                    from: Data(#"{"code": 2067, "message": "UNIQUE: \"a\"\n"}"#.utf8))
            },
            try record { $0.source = .init(file: "a.swift", function: nil, line: 1) },
        ]
        #expect(records[1].error?.code == 2067)
        let lines = StatementRecord.lines(of: records)
        #expect(StatementRecord.records(in: lines) == records)
        #expect(lines.filter { $0 == UInt8(ascii: "\n") }.count == 3)
    }

    private static let values = [
        BoundValue(.null), BoundValue(.integer(.min)), BoundValue(.real(1.5)), BoundValue(.real(3)),
        BoundValue(.real(-1e300)), BoundValue(.real(1e-300)), BoundValue(.text(odd)),
        BoundValue(.text(odd), bytes: 9000), BoundValue(.blob([0, 255, 7])),
        BoundValue(.blob([]), bytes: 100_000), BoundValue(.text("")), BoundValue(.blob([])),
    ]

    @Test func valuesAreReadAsTheyWereWritten() throws {
        for value in Self.values {
            let json = try JSONEncoder().encode([value])
            #expect(try JSONDecoder().decode([BoundValue].self, from: json) == [value])
        }
        let json = String(
            decoding: try JSONEncoder().encode(Array(Self.values.prefix(4))), as: UTF8.self)
        #expect(json == "[null,-9223372036854775808,1.5,{\"real\":3}]")
    }

    /// Python's parser must read the same JSON lines, with sorted keys.
    @Test func pythonReadsTheSame() throws {
        let lines = StatementRecord.lines(of: [
            try record {
                $0.sql = Self.odd
                $0.autoIndexes = 1
                $0.fullScanSteps = 2
                $0.leftOpen = true
                $0.ownChanges = 0
                $0.pages = 3
                $0.sorts = 4
                $0.source = .init(file: Self.odd, function: Self.odd, line: 5)
                $0.stack = [6, 7]
                $0.values = Self.values
                ($0.longValues, $0.test, $0.repeated, $0.lastOrder) = (true, 8, 9, 10)
            },
            try record(),
        ])
        let script = """
            import json, sys
            for line in sys.stdin.buffer.read().decode("utf-8").split("\\n")[:-1]:
                read = json.loads(line)
                assert list(read) == sorted(read), line
                print(read["sql"].encode("utf-8").hex())
            """
        let read = try runProgram(["python3", "-c", script], input: lines).output
        let hexadecimal = Self.odd.utf8.map { String(format: "%02x", Int($0)) }.joined()
        #expect(read == hexadecimal + "\n\n")
    }

    @Test func whatIsNoStatementIsRefused() {
        #expect(StatementRecord.records(in: Array("{}\n".utf8)) == nil)
        #expect(StatementRecord.records(in: []) == [])
    }
}

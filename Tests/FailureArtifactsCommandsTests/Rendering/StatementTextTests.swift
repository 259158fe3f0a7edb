import FailureArtifactsBundle
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

/// Statements in the output of `show` and `history`.
@Suite("Statements as text")
struct StatementTextTests {
    private static let long =
        "INSERT INTO posting (transferID, accountID, cents, note) VALUES (?, ?, ?, ?) RETURNING id"

    private static func record(
        _ sql: String, _ change: (inout StatementRecord) -> Void = { _ in }
    ) -> StatementRecord {
        var record = StatementRecord(
            at: "2026-11-21T07:08:09.123456Z", changes: 0, connection: 1, order: 1, phase: .test,
            sql: sql,
            thread: "7f")
        record.source = .init(
            file: "Sources/Ledger/Ledger.swift", function: "Ledger.split(_:)", line: 42)
        change(&record)
        return record
    }

    private static func lines(
        _ record: StatementRecord, after start: String = "  ", width: Int? = nil,
        hasColour: Bool = false, isWhole: Bool = false, hasCaller: Bool = false
    ) -> [String] {
        let terminal = width.map { Terminal(width: $0, hasColour: hasColour) }
        return StatementText(output: Memory().output(terminal: terminal))
            .lines(record, after: start, isWhole: isWhole, hasCaller: hasCaller)
    }

    // MARK: Layout

    @Test func `The place is beside a statement that leaves space for it`() {
        #expect(
            Self.lines(Self.record("COMMIT"), width: 80) == [
                "  COMMIT  Ledger.split(_:) Sources/Ledger/Ledger.swift:42"
            ])
        #expect(
            Self.lines(Self.record(Self.long) { $0.changes = 1 }, width: 120) == [
                "  INSERT INTO posting (transferID, accoun…, ?, ?) RETURNING id  (1 row)  "
                    + "Ledger.split(_:) Sources/Ledger/Ledger.swift:42"
            ])
    }

    @Test func `Values are in the places of the parameters`() {
        let record = Self.record("SELECT '?', :a, ?2 FROM t WHERE b = ? AND c = :a") {
            $0.values = [
                BoundValue(.text("it's")), BoundValue(.real(2)), BoundValue(.blob([1, 255])),
            ]
            $0.source = nil
        }
        #expect(
            Self.lines(record)
                == ["  SELECT '?', 'it's', 2.0 FROM t WHERE b = X'01FF' AND c = 'it's'"])
        let cut = Self.record("SELECT ?") {
            $0.values = [BoundValue(.text(String(repeating: "long ", count: 30)), bytes: 5000)]
            $0.source = nil
        }
        #expect(Self.lines(cut)[0].contains("'long long") && Self.lines(cut)[0].contains("…"))
    }

    @Test func `Executions with different values are shown as they were written`() {
        let record = Self.record("DELETE FROM t WHERE a = ?") {
            ($0.source, $0.values) = (nil, [BoundValue(.integer(1))])
            $0.repeated = 1200
        }
        #expect(Self.lines(record) == ["  1,200 times: DELETE FROM t WHERE a = ?  (0 rows)"])
    }

    @Test func `The rows are those that the statement changed itself`() {
        func note(_ sql: String, _ changes: Int, _ own: Int?) -> String? {
            let record = Self.record(sql) {
                ($0.changes, $0.ownChanges, $0.source) = (changes, own, nil)
            }
            return Self.lines(record).first
        }
        #expect(note("INSERT INTO note", 44, 10) == "  INSERT INTO note  (10 rows)")
        #expect(note("INSERT INTO note", 10, nil) == "  INSERT INTO note  (10 rows)")
        #expect(note("INSERT INTO texts", 2, 0) == "  INSERT INTO texts  (0 rows, 2 by triggers)")
        #expect(note("COMMIT", 30, nil) == "  COMMIT")
    }

    @Test func `The place is below a statement that leaves no space for it`() {
        #expect(
            Self.lines(Self.record(Self.long) { $0.changes = 1 }, after: "  07:08:09.123  ", width: 80)
                == [
                    "  07:08:09.123  INSERT INTO posting (transferID, acc…?, ?) RETURNING id  (1 row)",
                    "    Ledger.split(_:) Sources/Ledger/Ledger.swift:42",
                ])
    }

    @Test func `A statement that is shown as a whole has as many lines as it needs`() {
        let sql = #"DELETE FROM message WHERE (sender = ? AND recipient = ?) OR (sender = ?)"#
        let record = Self.record(sql) { $0.changes = 4 }
        #expect(
            Self.lines(record, after: "  07:08:09.123  ", width: 60, isWhole: true) == [
                "  07:08:09.123  DELETE FROM message WHERE (sender = ? AND",
                "    recipient = ?) OR (sender = ?)  (4 rows)",
                "    Ledger.split(_:) Sources/Ledger/Ledger.swift:42",
            ])
        let short = Self.record("COMMIT")
        #expect(
            Self.lines(short, width: 80, isWhole: true) == Self.lines(short, width: 80, isWhole: false))
    }

    @Test func `The callers up to another file are below the statement`() {
        let test = StatementRecord.Source(
            file: "Tests/LedgerTests.swift", function: "LedgerTests.testSplit()", line: 7)
        let record = Self.record("COMMIT") {
            $0.callers = [
                .init(file: "Sources/Ledger/Ledger.swift", function: "Ledger.run()", line: 9), test,
            ]
            $0.queryPlan = ["SCAN a"]
            $0.fullScanSteps = 20_000
        }
        let lines = Self.lines(record, hasCaller: true)
        #expect(
            lines == [
                "  COMMIT  (scanned at least 20,001 rows)  Ledger.split(_:) Sources/Ledger/Ledger.swift:42",
                "    called from Ledger.run() Sources/Ledger/Ledger.swift:9",
                "    called from LedgerTests.testSplit() Tests/LedgerTests.swift:7", "    SCAN a",
            ])
        #expect(Self.lines(record) == [lines[0], lines[3]])
        let narrow = Self.lines(record, width: 60, hasCaller: true)
        #expect(narrow[3] == "    called from LedgerTests.testS… Tests/LedgerTests.swift:7")

        // The function around a closure says nothing new.
        let inside = Self.record("COMMIT") {
            $0.source?.function = "closure #1 in Ledger.run()"
            $0.callers = record.callers
        }
        #expect(!Self.lines(inside, hasCaller: true).contains { $0.contains("from Ledger.run()") })

        // The line may be one of the callers; the line that ran the statement is not its caller.
        let outer = Self.record("COMMIT") { $0.source = test }
        for callers in [[test], [.init(file: "A.swift", function: nil, line: 1), test]] {
            let record = Self.record("COMMIT") { ($0.source, $0.callers) = (test, callers) }
            #expect(Self.lines(record, hasCaller: true) == Self.lines(outer))
        }
        let unknown = Self.record("COMMIT") { ($0.source, $0.callers) = (nil, [test]) }
        #expect(Self.lines(unknown, hasCaller: true) == ["  COMMIT"])
    }

    @Test(arguments: [40, 60, 80, 100, 120, 200])
    func `No line is longer than the terminal`(_ width: Int) {
        let function =
            "closure #1 (inout GRDB.Database) throws -> () in Ledger.split(transfers: [Int64])"
        for sql in ["COMMIT", Self.long] {
            for error in [nil, StatementRecord.Failure(code: 2067, message: Self.long)] {
                let record = Self.record(sql) {
                    $0.error = error
                    $0.fullScanSteps = 20_000
                    $0.source = .init(file: "Sources/A/A.swift", function: function, line: 42)
                }
                let lines = Self.lines(record, after: "  07:08:09.123456  ", width: width)
                #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
                #expect(lines.last?.hasSuffix(" Sources/A/A.swift:42") == true, "\(lines)")
            }
        }
        // Without a terminal, nothing of the place is left out.
        let record = Self.record("COMMIT") {
            $0.source = .init(file: "A.swift", function: function + function, line: 1)
        }
        #expect(Self.lines(record).last == "    " + function + function + " A.swift:1")
    }

    @Test func `Only known facts are shown`() {
        func line(_ sql: String, _ change: (inout StatementRecord) -> Void = { _ in }) -> String {
            let record = Self.record(sql) {
                $0.source = nil
                change(&$0)
            }
            return Self.lines(record).joined(separator: "|")
        }
        #expect(line("SELECT 1") == "  SELECT 1")
        #expect(line("CREATE TABLE a(b)") == "  CREATE TABLE a(b)")
        #expect(line("UPDATE a SET b = 1") == "  UPDATE a SET b = 1  (0 rows)")
        #expect(line("UPDATE a SET b = 1") { $0.changes = nil } == "  UPDATE a SET b = 1")
        #expect(line("DELETE FROM a") { $0.changes = 3 } == "  DELETE FROM a  (3 rows)")
        let failure = StatementRecord.Failure(code: 19, message: "constraint failed")
        #expect(
            line("DELETE FROM a") { $0.error = failure }
                == "  DELETE FROM a  (error 19: constraint failed)")
        #expect(
            line("SELECT 1") { ($0.fullScanSteps, $0.sorts, $0.autoIndexes) = (0, 0, 0) } == "  SELECT 1"
        )
        #expect(
            line("SELECT 1") { ($0.fullScanSteps, $0.sorts, $0.autoIndexes) = (20_000, 1, 1500) }
                == "  SELECT 1  (scanned at least 20,001 rows, 1 sort, "
                + "automatic index over at least 1,501 rows)")
        #expect(
            line("SELECT 1") { ($0.fullScanSteps, $0.sorts, $0.duration) = (1, 2, 0.0042) }
                == "  SELECT 1  (4 ms, scanned at least 2 rows, 2 sorts)")
        #expect(line("SELECT 1") { $0.duration = -1e308 } == "  SELECT 1")
    }

    @Test func `The query plan is below the statement`() {
        let record = Self.record("SELECT 1") {
            ($0.fullScanSteps, $0.source) = (20_000, nil)
            $0.queryPlan = [
                "CO-ROUTINE a", "  SCAN \u{1B}[31m" + String(repeating: "b", count: 99), "SCAN a",
            ]
        }
        #expect(
            Self.lines(record, width: 40) == [
                "  SELECT 1", "    (scanned at least 20,001 rows)", "    CO-ROUTINE a",
                "      SCAN \\u{1b}[31m" + String(repeating: "b", count: 18) + "…", "    SCAN a",
            ])
        let large = Self.record("SELECT 1") { $0.queryPlan = Array(repeating: "SCAN a", count: 100_000) }
        #expect(Self.lines(large).count == 21)
    }

    @Test func `Times have the precision with which they were recorded`() {
        #expect(StatementText.time(Self.record("")) == "07:08:09.123456")
        #expect(
            StatementText.time(Self.record("") { $0.at = "2026-11-21T07:08:09.123Z" }) == "07:08:09.123")
        #expect(
            StatementText.time(Self.record("") { $0.at = String(repeating: "\u{1B}", count: 99) }).count
                == 16)
    }

    @Test func `A place is safe for a terminal`() {
        let hostile = "\u{1B}]8;;https://evil.example\u{7}\u{202E}\n\u{9B}31m"
        let record = Self.record("COMMIT") {
            $0.source = .init(file: hostile + ".swift", function: hostile, line: .min)
        }
        let plain = Self.lines(record, width: 400).joined()
        #expect(plain.contains("\\u{1b}]8;;https://evil.example\\u{7}\\u{202e} \\u{9b}31m"))
        #expect(
            !plain.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x9B || $0.value == 0x202E })
        let endless = Self.record("COMMIT") {
            let text = String(repeating: "x", count: 1 << 20)
            $0.source = .init(file: text, function: text, line: 1)
        }
        #expect(Self.lines(endless).joined().count < 1000)
    }

    // MARK: Commands

    @Test func `Every command shows the place`() throws {
        let fixture = try Fixture()
        let source = """
            "source":{"file":"Sources/Ledger/Ledger.swift","function":"Ledger.split(_:)","line":42}
            """
        let path = try fixture.walBundle(
            log: StoryTests.log,
            facts: [15: source, 18: "\"fullScanSteps\":2,\"queryPlan\":[\"SCAN account\"],\"sorts\":0"])
        let statement = "DELETE FROM account WHERE id > 1  (2 rows)"
        let line = statement + "  Ledger.split(_:) Sources/Ledger/Ledger.swift:42\n"
        let shown = run("show", path).output
        #expect(shown.contains("  " + line))
        #expect(
            shown.contains(
                "\n  07:08:09.118  SELECT count(*) FROM account  (scanned at least 3 rows)\n    SCAN account\n"
            ))
        #expect(run("history", path).output.contains("\n     " + line))
        let place =
            "\u{1B}[2mLedger.split(_:)\u{1B}[0m \u{1B}[2mSources/Ledger/Ledger.swift:42\u{1B}[0m\n"
        #expect(
            run("history", path, width: 80, hasColour: true).output.contains(
                "\u{1B}[2m     \(statement)\u{1B}[0m\n       \(place)"))
        let facts = try Program.python(
            """
            import json, sys
            d = json.load(open(sys.argv[1]))
            s = d["statements"]["ledger"]
            print([i for i, x in enumerate(s) if "source" in x], sorted(s[15]["source"].items()),
                s[18]["fullScanSteps"], s[18]["sorts"], s[18]["queryPlan"])
            """, run("show", path, "--json").output)
        #expect(
            facts
                == "[15] [('file', 'Sources/Ledger/Ledger.swift'), ('function', 'Ledger.split(_:)'), ('line', 42)] 2 0 ['SCAN account']\n"
        )
        let transactions = run("history", path, "--json").output
        #expect(transactions.contains("\"function\" : \"Ledger.split(_:)\""))
    }
}

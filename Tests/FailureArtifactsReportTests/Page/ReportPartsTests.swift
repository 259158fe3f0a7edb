import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsAnalysis
@testable import FailureArtifactsReport

@Suite("Parts of the report")
struct ReportPartsTests {
    // MARK: - Limits

    /// As `blame` says; the text of a statement on another table may have the table's name, too.
    @Test func `A changed row has the statements on its table`() throws {
        let fixture = try Fixture()
        let statements = ["DELETE FROM entry WHERE account = 1", "DELETE FROM account WHERE id = 1"]
        let path = try fixture.walBundle(
            [
                "CREATE TABLE entry(account, amount); INSERT INTO entry VALUES (1, 5)",
                statements.joined(separator: "; "),
            ], log: [("BEGIN", 0), (statements[0], 1), (statements[1], 1), ("COMMIT", 0)])
        let detail = try FailureDetail(
            reading: BundleLocation(path: path), scratch: fixture.directory, ReportLimits(causes: 1),
            archive: .standard)
        let store = try #require(detail.stores.first)
        let account = try #require(store.steps.last?.tables.first { $0.name == "account" })
        #expect(
            account.writers.mapValues { $0.map { store.statements[$0].sql } } == [
                .deleted: [statements[1]]
            ])
    }

    @Test func `A large copy is described, with its statements`() throws {
        let fixture = try Fixture()
        var limits = ReportLimits(causes: 1)
        limits.storeBytes = 100
        let bundle = try fixture.walBundle(
            ["INSERT INTO account VALUES (7, 'x', 7)"],
            log: [("INSERT INTO account VALUES (7, 'x', 7)", 1)])
        let detail = try FailureDetail(
            reading: BundleLocation(path: bundle), scratch: fixture.directory, limits, archive: .standard
        )
        #expect(detail.notes.first?.contains("too much to be analysed here") == true)
        let store = try #require(detail.stores.first)
        #expect(store.tables.isEmpty && store.steps.isEmpty && store.statements.count == 1)
    }

    // MARK: - Escaping

    @Test func `Text is no markup`() {
        let hostile = "<script>alert('1' & \"2\")</script>\u{0}\u{1B}\u{202E}\n"
        #expect(
            HTMLText.line(hostile)
                == "&lt;script&gt;alert(&#39;1&#39; &amp; &quot;2&quot;)&lt;/script&gt;\\u{0}\\u{1b}\\u{202e} "
        )
        #expect(HTMLText.cell("a\nb\t") == "a\\nb\\t")
        #expect(HTMLText.lines("a\r\nb\u{7}<") == "a\nb\\u{7}&lt;")
    }

    @Test func `Another reader reads the same values`() throws {
        let values: [(StoredValue, String)] = [
            (StoredValue(.null), "None"),
            (StoredValue(.integer(1 << 53)), "9007199254740992"),
            (StoredValue(.integer(.min)), "{'i': '-9223372036854775808'}"),
            (StoredValue(.real(0.5)), "{'r': '0.5'}"),
            (StoredValue(.real(-.infinity)), "{'r': '-Inf'}"),
            (StoredValue(.blob([0, 0xFF])), "{'b': '00FF', 'n': 2}"),
            (StoredValue(.text([0xFF])), "{'x': 'FF', 'n': 1}"),
            (
                StoredValue(.text(Array("</script>'\u{2028}\u{E000}é".utf8))),
                "\"</script>'\\u2028\\ue000é\""
            ),
        ]
        for (value, expected) in values {
            let read = try Program.run(
                "/usr/bin/env",
                [
                    "python3", "-c", "import json, sys; print(json.loads(sys.argv[1]))",
                    JSONValue(cell: value).json,
                ],
                environment: ["PYTHONIOENCODING": "utf-8"])
            #expect(read.status == 0, "\(read.error)")
            let text = read.output.trimmingSuffix(while: { $0 == "\n" })
            if case .text(let bytes) = value.content, bytes != [0xFF] {
                #expect(Array(text.utf8) == bytes)
            } else {
                #expect(text == expected)
            }
        }
    }

    @Test func `The hashes of the policy are those of style and script`() throws {
        for text in [PageFiles.style, PageFiles.script] {
            let computed = try Program.python(
                "import base64, hashlib, sys; "
                    + "print(base64.b64encode(hashlib.sha256(open(sys.argv[1], 'rb').read()).digest()).decode(), end='')",
                text)
            #expect(PageFiles.policy.contains("-src 'sha256-\(computed)'"))
            // Nothing in them ends their elements.
            #expect(!text.contains("</"))
        }
    }

    // MARK: - The message

    @Test(arguments: [
        (#"XCTAssertEqual failed: ("1") is not equal to ("0") - The books"#, "1", "0"),
        (#"Expectation failed: (ledger.balance → 44) == 49"#, "44", "49"),
        (#"Expectation failed: 49 == (ledger.balance → 44)"#, "44", "49"),
    ])
    func `The values of an assertion are told apart`(message: String, actual: String, expected: String)
        throws
    {
        let values = try #require(ComparedOperands(message))
        #expect(values.actual == actual)
        #expect(values.expected == expected)
    }

    @Test func `Other assertions have no expected value`() {
        for message in [
            "XCTAssertTrue failed", #"XCTAssertGreaterThan failed: ("1") is not greater than ("2")"#, "",
        ] {
            #expect(ComparedOperands(message) == nil, "\(message)")
        }
    }

    @Test func `The part of long values that differs is marked, and none of it is markup`() throws {
        let values = try #require(
            ComparedOperands(
                #"XCTAssertEqual failed: ("[<Anna>, Bert, Cleo]") is not equal to ("[<Anna>, Bo, Cleo]")"#
            )
        )
        #expect(
            values.html.contains(
                "[&lt;Anna&gt;, B<mark>ert</mark>, Cleo]</dd><dt>expected</dt>"
                    + "<dd class=\"expected\">[&lt;Anna&gt;, B<mark>o</mark>, Cleo]"))
    }

    @Test func `The lines around an assertion are from files that are older than the failure`() throws {
        let fixture = try Fixture()
        let text = (1...9).map { "line <\($0)>\n" }.joined()
        let file = try fixture.write(Array(text.utf8), to: "package/Tests/T.swift")
        try fixture.write(Array(text.utf8), to: "package/secret.txt")
        try fixture.write(Array(text.utf8), to: "outside.swift")
        let linked = try Program.run(
            "/bin/ln", ["-s", fixture.path("outside.swift"), fixture.path("package/link.swift")])
        #expect(linked.status == 0)
        func excerpt(_ file: String, _ line: Int? = 5, at: String = "2126-11-21T07:08:09.123Z")
            -> SourceExcerpt?
        {
            var failure = BundleMetadata.Failure(
                message: "m", file: file, line: line, kind: .assertion, at: .now)
            failure.at = at
            return SourceExcerpt(
                file: file, line: line, before: failure, below: fixture.path("package"))
        }
        let found = try #require(excerpt(file))
        #expect(found.first == 3)
        #expect(found.lines == (3...7).map { "line <\($0)>" })
        #expect(found.html.contains("failing\"><span class=\"number\">5</span> line &lt;5&gt;</span>"))
        #expect(excerpt(file, 1)?.lines.count == 3)
        #expect(excerpt(file, at: "2020-11-21T07:08:09.123Z") == nil)
        #expect(excerpt(file, 99) == nil)
        #expect(excerpt(file, nil) == nil)
        for other in ["package/secret.txt", "outside.swift", "package/link.swift", "package/no.swift"] {
            #expect(excerpt(fixture.path(other)) == nil, "\(other)")
        }
    }

    // MARK: - Groups

    private static func cause(
        _ number: Int, _ message: String, _ finding: (code: Finding.Code, line: Int?)? = nil,
        _ confidence: Finding.Confidence = .certain, place: String? = "T.swift:7"
    ) throws -> DescribedCause {
        let metadata = try BundleMetadata(
            json: Array(
                Metadata.plain(test: "test\(number)", message: message)
                    .replacing("\"fingerprint\": \"0\"", with: "\"fingerprint\": \"\(number)\"").utf8),
            of: "a.zip")
        let bundle = ReportedBundle(
            metadata, location: BundleLocation(path: "/a.zip", inner: nil), bytes: 1)
        let findings = finding.map { known in
            var found = Finding(
                code: known.code, title: "posting \(number) is wrong", confidence: confidence,
                store: nil, explanation: "")
            found.statement = known.line.map { line in
                record("INSERT") {
                    $0.source = .init(file: "Sources/A.swift", function: nil, line: line)
                }
            }
            return [found]
        }
        return DescribedCause(
            number: number, cause: try #require(ReportedFailure.mostFrequentFirst(of: [bundle]).first),
            findings: findings ?? [], place: place, html: "", blocks: "")
    }

    // MARK: - Arguments

    @Test(
        arguments: [
            (
                ["1", "2", "1"], "a(_:)",
                "Failed with 2 arguments: <code>1</code> (shown here) <code>2</code></p>"
            ),
            (
                (1...23).map { "<\($0)>" }, "a(_:)",
                "Failed with 23 arguments: <code>&lt;1&gt;</code> (shown here) "
                    + (2...20).map { "<code>&lt;\($0)&gt;</code>" }.joined(separator: " ")
                    + " and 3 more</p>"
            ),
            (["1", "1"], "a(_:)(1)", nil), (["1"], "a(_:)(1)", nil), ([], "a(_:)", nil),
        ] as [([String], String, String?)])
    func `All arguments of a failure are shown`(arguments: [String], title: String, text: String?) throws
    {
        let values: [String?] = arguments.isEmpty ? [nil] : arguments
        let bundles = try values.map { argument in
            var metadata = try BundleMetadata(
                json: Array(
                    Metadata.plain(test: "a(_:)", message: "m")
                        .replacing("\"fingerprint\": \"0\"", with: "\"fingerprint\": \"1\"").utf8),
                of: "a.zip")
            metadata.test.arguments = argument.map { [$0] }
            return ReportedBundle(
                metadata, location: BundleLocation(path: "/a.zip", inner: nil), bytes: 1)
        }
        let section = FailureSection(
            number: 1, cause: try #require(ReportedFailure.mostFrequentFirst(of: bundles).first),
            detail: nil,
            problem: nil,
            hasShards: false, folder: PageFolder(ofPage: nil), outline: nil)
        let html = section.html
        #expect(html.contains("<h2 id=\"f1-title\">PlainTests.\(title)</h2>"), "\(html)")
        #expect(html.contains("Failed with ") == (text != nil))
        if let text { #expect(html.contains("<p class=\"arguments\">" + text), "\(html)") }
        #expect(html.contains("<th scope=\"col\">Arguments</th>") == (text != nil))
    }

    @Test func `Failures of one line or one message are one group`() throws {
        let causes = [
            try Self.cause(1, "m", (.orphan, 42)), try Self.cause(2, "3 is not 4"),
            try Self.cause(3, "n", (.orphan, 42)), try Self.cause(4, "31 is not 44"),
            try Self.cause(5, "alone"), try Self.cause(6, "o", (.orphan, 43)),
            try Self.cause(7, "p", (.integrity, nil)), try Self.cause(8, "q", (.integrity, nil)),
            try Self.cause(10, "3 is not 4", place: "T.swift:8"),
            try Self.cause(11, "3 is not 4", place: nil),
            // A possible cause is no reason for a group.
            try Self.cause(9, "r", (.orphan, 42), .possible),
        ]
        let groups = CauseGroup.groups(of: causes)
        #expect(
            groups.map(\.heading) == [
                "Same cause · A.swift:42", "Same assertion", "Same finding · integrity", "Others",
            ])
        #expect(
            groups.map { $0.causes.map(\.number) } == [[1, 3], [2, 4], [7, 8], [5, 6, 10, 11, 9]])
        #expect(CauseGroup.groups(of: [causes[4]]).map(\.heading) == [nil])
        let better = [causes[1], causes[3], try Self.cause(12, "s", (.orphan, 44), .likely)]
        #expect(CauseGroup.groups(of: better).map { $0.causes.map(\.number) } == [[12], [2, 4]])
    }

    @Test func `The best findings come first, then the most frequent failures and the oldest ones`()
        throws
    {
        let causes = [
            try Self.cause(1, "a"), try Self.cause(2, "b", (.orphan, 1), .possible),
            try Self.cause(3, "c", (.orphan, 2), .certain),
            try Self.cause(4, "d", (.orphan, 3), .likely),
        ]
        #expect(causes.sorted { $0.comes(before: $1) }.map(\.number) == [3, 4, 2, 1])
    }

    // MARK: - Statements

    private static func record(
        _ sql: String, at: String = "09.123456", _ change: (inout StatementRecord) -> Void = { _ in }
    ) -> StatementRecord {
        var record = StatementRecord(
            at: "2026-11-21T07:08:\(at)Z", changes: 0, connection: 1, order: 1, phase: .test, sql: sql,
            thread: "7f")
        change(&record)
        return record
    }

    /// Tables are `audit`, which is empty, `booking`, `customer` and SQLite's own; another one was dropped.
    @Test(
        arguments: [
            ([], [], 1), ([["customer"], ["booking"]], [], 1),
            ([["Booking"], ["customer", "booking"]], [], 2),
            ([["audit"], ["sqlite_sequence"]], [], 0), ([["customer"], ["old"], []], [], 2),
            ([], ["INSERT INTO customer VALUES (1)", "SELECT * FROM booking"], 2),
            (
                [],
                [
                    "DELETE FROM Audit", "INSERT INTO aux.customer VALUES (1)",
                    "INSERT INTO x VALUES (1)",
                ], 0
            ),
            // The steps tell more than the statements.
            ([["customer"]], ["INSERT INTO booking VALUES (1)"], 2),
        ] as [([[String]], [String], Int)])
    func `The first table is the last changed one, or has rows`(
        _ steps: [[String]], _ statements: [String], _ expected: Int
    ) throws {
        let metadata = try BundleMetadata(json: Array(Metadata.store("a").utf8), of: "a.zip")
        var detail = StoreDetail(try #require(metadata.stores.first))
        detail.tables = [("audit", 0), ("booking", 2), ("customer", 1), ("sqlite_sequence", 1)].map {
            var table = TableDetail(name: $0)
            (table.count, table.isQuiet) = (Int64($1), $0.hasPrefix("sqlite_"))
            return table
        }
        detail.steps = steps.enumerated().map { index, tables in
            var step = StepDetail(kind: .transaction, number: index + 1)
            step.tables = tables.map {
                .init(name: $0, source: $0, counts: RowCounts(inserted: 1))
            }
            return step
        }
        detail.statements = statements.map { sql in Self.record(sql) { $0.changes = 1 } }
        #expect(StoreLayout(detail).firstTable == expected)
    }

    private static func timeline(_ statements: [StatementRecord]) throws -> StatementTimeline {
        let metadata = try BundleMetadata(json: Array(Metadata.store("a").utf8), of: "a.zip")
        var detail = StoreDetail(try #require(metadata.stores.first))
        detail.statements = statements
        return StatementTimeline(detail, nil, variables: ReportLinksTests.github)
    }

    @Test func `A statement has its line, and what SQLite counted`() throws {
        let record = Self.record("SELECT a") {
            $0.source = .init(file: "Sources/A.swift", function: "A.sum<B>()", line: 7)
            ($0.fullScanSteps, $0.sorts, $0.autoIndexes) = (20_000, 2, 0)
        }
        let notes =
            "<div class=\"notes\"><code>A.sum&lt;B&gt;()</code> <a href=\"\(ReportLinksTests.base)Sources/A.swift#L7\" "
            + "rel=\"noreferrer\"><code>Sources/A.swift:7</code></a> · scanned at least 20,001 rows, 2 sorts</div>"
        let timeline = try Self.timeline([record])
        #expect(timeline.html.contains("<code>SELECT a</code>" + notes))
        #expect(timeline.html.contains("<td>07:08:09.123456</td>"))
    }

    @Test func `A long query is cut at its end`() throws {
        let query = "SELECT \(String(repeating: "name, ", count: 200)) ORDER BY name"
        #expect(try Self.timeline([Self.record(query)]).html.contains("<code>\(query)</code>"))
        let longer = try Self.timeline([Self.record("\(query) \(query)")]).html
        #expect(longer.contains("ORDER BY name SELECT name") && longer.contains("…</code>"))
    }

    @Test func `A statement has its query plan`() throws {
        let record = Self.record("SELECT a") {
            $0.queryPlan = ["CO-ROUTINE a", "  SCAN </pre><script>\u{1B}"]
        }
        let plan =
            "<pre class=\"notes plan\">CO-ROUTINE a\n  SCAN &lt;/pre&gt;&lt;script&gt;\\u{1b}</pre>"
        let timeline = try Self.timeline([record])
        #expect(timeline.html.contains("<code>SELECT a</code>" + plan))
    }

    @Test func `A statement's place is no markup`() throws {
        let hostile = "</code></a><script>alert(1)</script>\u{1B}\u{202E}\"'"
        let html = try Self.timeline([
            Self.record("SELECT 1") { $0.source = .init(file: hostile, function: hostile, line: -1) },
            Self.record("SELECT 1") { $0.source = .init(file: "javascript:x", function: "", line: 1) },
        ]).html
        #expect(!html.contains("<script") && !html.contains("\u{1B}") && !html.contains("\u{202E}"))
        #expect(!html.contains("href=\"javascript"))
        #expect(
            html.ranges(of: "<a href=").count
                == html.ranges(of: "<a href=\"\(ReportLinksTests.base)").count)
    }

    // MARK: - Times

    @Test func `Times are read as another program reads them`() throws {
        var random = SystemRandomNumberGenerator()
        let seed = random.next()
        var generator = SplitMix(seed: seed)
        for _ in 0..<200 {
            let time = Timestamp(
                seconds: Int64.random(in: 0...4_000_000_000, using: &generator),
                milliseconds: Int32.random(in: 0...999, using: &generator))
            #expect(
                MetadataTime.milliseconds(of: time.description) == time.seconds * 1000
                    + Int64(time.milliseconds),
                "seed \(seed)")
            let micros = Int64.random(in: 0...999_999, using: &generator)
            let text =
                time.description.prefix(20) + String(String(1_000_000 + micros).dropFirst()) + "Z"
            #expect(
                MetadataTime.microseconds(of: String(text)) == time.seconds * 1_000_000 + micros,
                "seed \(seed)")
        }
        #expect(MetadataTime.microseconds(of: "1970-01-01T00:00:01.5Z") == 1_500_000)
        #expect(MetadataTime.microseconds(of: "1970-01-01T00:00:01.123456789Z") == 1_123_456)
        for text in [
            "", "2026-11-21", "2026-13-21T07:08:09Z", "x026-11-21T07:08:09Z", "2026-11-21T07:08:09.+1Z",
        ] {
            #expect(MetadataTime.milliseconds(of: text) == nil, "\(text)")
        }
    }
}

extension String {
    fileprivate func trimmingSuffix(while isDropped: (Character) -> Bool) -> String {
        var text = self
        while let last = text.last, isDropped(last) { text.removeLast() }
        return text
    }
}

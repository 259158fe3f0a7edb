import FailureArtifactsAnalysis
import FailureArtifactsSQLite
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite struct RowRendererTests {
    private func text(
        _ columns: [String], _ rows: [[Value]], _ make: (TextOutput) -> any RowRenderer
    ) throws -> String {
        let memory = Memory()
        let output = memory.output()
        var renderer = make(output)
        try renderer.begin(columns: columns)
        for row in rows { try renderer.write(row: row) }
        try renderer.end()
        try output.flush()
        return memory.text
    }

    private let odd: [Value] = [
        .null, .integer(.min), .real(1.5), .real(-.infinity), .text(""),
        .text("a,\"b\"\r\n果\u{0}\u{1F}"),
        .blob([0, 255]), .text("\"\u{301}"),
    ]

    @Test func csv() throws {
        let csv = try text(["a", "b,c"], [[.text("x"), .null]]) { CSVRenderer(output: $0) }
        #expect(csv == "a,\"b,c\"\r\nx,\r\n")
        #expect(
            try text(["a"], [[.null], [.text("")]]) { CSVRenderer(output: $0) }
                == "a\r\n\"\"\r\n\"\"\r\n")
        #expect(try text([], []) { CSVRenderer(output: $0) }.isEmpty)
    }

    @Test func pythonReadsTheCSV() throws {
        let csv = try text((1...8).map { "c\($0)" }, [odd]) { CSVRenderer(output: $0) }
        let read = try Program.python(
            """
            import csv, sys
            rows = list(csv.reader(open(sys.argv[1], newline="", encoding="utf-8"), strict=True))
            assert rows[0] == ["c%d" % n for n in range(1, 9)], rows
            assert rows[1:] == [["", "-9223372036854775808", "1.5", "-Inf", "",
                'a,"b"\\r\\n果\\0\\x1f', "X'00FF'", '"\\u0301']], rows
            print("ok")
            """, csv)
        #expect(read == "ok\n")
    }

    @Test func pythonReadsTheJSON() throws {
        let json = try text(["z", "a", "a", "a_2", "r", "i", "b", "q"], [odd, odd]) {
            JSONRowRenderer(output: $0)
        }
        let read = try Program.python(
            """
            import json, sys
            rows = json.load(open(sys.argv[1], encoding="utf-8"))
            assert len(rows) == 2 and rows[0] == rows[1]
            assert list(rows[0].items()) == [("z", None), ("a", -9223372036854775808), ("a_3", 1.5),
                ("a_2", float("-inf")), ("r", ""), ("i", 'a,"b"\\r\\n果\\0\\x1f'), ("b", {"base64": "AP8="}),
                ("q", '"\\u0301')], rows
            print("ok")
            """, json)
        #expect(read == "ok\n")
        #expect(try text(["a"], []) { JSONRowRenderer(output: $0) } == "[]\n")
    }

    @Test func tableIsAligned() throws {
        let table = try text(
            ["id", "名前", "note"],
            [
                [.integer(1), .text("果物"), .null], [.integer(20), .text("ab"), .text("x\ny")],
                [.null, .text("e\u{301}"), .blob([1])],
            ]
        ) { TableRenderer(output: $0, width: 80) }
        #expect(
            table == """
                  id  名前  note
                ────  ────  ─────
                   1  果物  NULL
                  20  ab    x\\ny
                NULL  é     X'01'
                (3 rows)

                """)
    }

    @Test func tableKeepsToTheTerminal() throws {
        let long = String(repeating: "果物", count: 100)
        let rows: [[Value]] = (0..<500).map { [.integer($0), .text(long), .text(long)] }
        let table = try text(["id", "a", "b"], rows) { TableRenderer(output: $0, width: 60) }
        let lines = table.split(separator: "\n")
        #expect(lines.count == 503)
        #expect(lines.allSatisfy { TextWidth.columns(of: String($0)) <= 60 })
    }

    @Test(arguments: [
        ([3, 4], 80, [3, 4]), ([100, 4], 20, [16, 4]), ([100, 100], 20, [10, 10]),
        ([9, 9, 9], 3, [6, 6, 6]),
    ])
    func fitting(_ natural: [Int], _ width: Int, _ expected: [Int]) {
        #expect(TableRenderer.fit(natural, into: width) == expected)
    }
}

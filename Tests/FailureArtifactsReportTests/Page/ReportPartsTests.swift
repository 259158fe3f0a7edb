import FailureArtifactsAnalysis
import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsReport

@Suite("Parts of the report")
struct ReportPartsTests {
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

    @Test func `JSON in a page neither ends its element nor a line`() {
        let hostile = "</script><!--<script>]]>&'\"\\\u{0}\u{7F}\u{2028}\u{2029}\n€🙂\u{202E}"
        let text = CellJSON.string(hostile)
        for part in ["<", ">", "&", "'", "\u{2028}", "\u{2029}", "\n", "\u{0}"] {
            #expect(
                !text.unicodeScalars.contains(part.unicodeScalars.first!), "\(part.debugDescription)")
        }
        #expect(text.contains("\\u2028\\u2029"))
        #expect(text.contains("€🙂"))
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
                    CellJSON.text(of: value),
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
        for (text, hash) in [
            (ReportStyle.text, ReportStyle.hash), (ReportScript.text, ReportScript.hash),
        ] {
            let computed = try Program.run(
                "/usr/bin/env",
                [
                    "python3", "-c",
                    "import base64, hashlib, sys; "
                        + "print(base64.b64encode(hashlib.sha256(sys.argv[1].encode()).digest()).decode(), end='')",
                    text,
                ])
            #expect(computed.output == hash)
            #expect(!text.contains("</"))
        }
    }

    // MARK: - Links

    private static let github = [
        "GITHUB_SERVER_URL": "https://github.example", "GITHUB_REPOSITORY": "owner/app",
        "GITHUB_SHA": "0123456789abcdef",
    ]
    private static let base = "https://github.example/owner/app/blob/0123456789abcdef/"

    @Test(arguments: [
        ("/actions/app/app/Tests/A b#?.swift", "Tests/A%20b%23%3F.swift"),
        ("/__w/app/app/Tests/é.swift", "Tests/%C3%A9.swift"),
        ("/Users/me/app/Tests/A.swift", "Tests/A.swift"),
        ("Tests/<\"'>.swift", "Tests/%3C%22%27%3E.swift"),
    ])
    func `A line is linked at the commit`(file: String, path: String) {
        #expect(
            SourceLink.url(file: file, line: 7, variables: Self.github) == Self.base + path + "#L7")
    }

    @Test(arguments: ["/elsewhere/A.swift", "/app/../../etc/passwd", "", "a//b", "../A.swift"])
    func `A file that is not known to be in the repository is not linked`(file: String) {
        #expect(SourceLink.url(file: file, line: 7, variables: Self.github) == nil)
    }

    @Test(arguments: [
        ["GITHUB_SERVER_URL": "javascript:alert(1)//"], ["GITHUB_SHA": "\"><script>"],
        ["GITHUB_SHA": "abc"],
        ["GITHUB_REPOSITORY": "a/b?x=<"], ["GITHUB_SERVER_URL": "https://user@host"],
    ])
    func `A run that is not what it should be is not linked`(change: [String: String]) {
        let variables = Self.github.merging(change) { $1 }
        #expect(SourceLink.url(file: "Tests/A.swift", line: 7, variables: variables) == nil)
    }

    @Test func `Other hosts have other addresses`() {
        #expect(
            SourceLink.url(
                file: "/builds/group/app/Tests/A.swift", line: 7,
                variables: [
                    "CI_JOB_URL": "https://gitlab.example/group/app/-/jobs/12",
                    "CI_COMMIT_SHA": "0123456789",
                ]) == "https://gitlab.example/group/app/-/blob/0123456789/Tests/A.swift#L7")
        #expect(
            SourceLink.url(
                file: "Tests/A.swift", line: nil,
                variables: [
                    "BITBUCKET_GIT_HTTP_ORIGIN": "https://bitbucket.example/w/app",
                    "BITBUCKET_COMMIT": "0123456789",
                ]) == "https://bitbucket.example/w/app/src/0123456789/Tests/A.swift")
        #expect(
            SourceLink.url(
                file: "/opt/atlassian/pipelines/agent/build/Tests/A.swift", line: 7,
                variables: [
                    "BITBUCKET_GIT_HTTP_ORIGIN": "http://bitbucket.example/w/app",
                    "BITBUCKET_COMMIT": "0123456789",
                ]) == "http://bitbucket.example/w/app/src/0123456789/Tests/A.swift#lines-7")
        #expect(SourceLink.url(file: "Tests/A.swift", line: 1, variables: [:]) == nil)
    }

    @Test(arguments: [
        (
            "https://o@azure.example/o/a%20b/_git/app", "/__w/12/s/Tests/A b.swift",
            "https://azure.example/o/a%20b/_git/app?version=GC0123456789&path=/Tests/A%20b.swift"
                + "&line=7&lineEnd=8&lineStartColumn=1&lineEndColumn=1"
        ),
        (
            "https://github.com/o/app.git", "/azp/s/agent/1/s/Sources/s/A.swift",
            "https://github.com/o/app/blob/0123456789/Sources/s/A.swift#L7"
        ),
        ("https://github.com/o/app", "/elsewhere/s/A.swift", nil),
        ("https://svn.example/app", "/__w/1/s/A.swift", nil),
        ("javascript://o@azure.example/_git/app", "/__w/1/s/A.swift", nil),
        ("https://azure.example/_git/app?\"", "/__w/1/s/A.swift", nil),
    ])
    func `Azure builds from its own repositories and from others`(
        repository: String, file: String, expected: String?
    ) {
        let variables = ["BUILD_REPOSITORY_URI": repository, "BUILD_SOURCEVERSION": "0123456789"]
        #expect(SourceLink.url(file: file, line: 7, variables: variables) == expected)
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
        }
        for text in [
            "", "2026-11-21", "2026-13-21T07:08:09Z", "x026-11-21T07:08:09Z", "2026-11-21T07:08:09.+1Z",
        ] {
            #expect(MetadataTime.milliseconds(of: text) == nil, "\(text)")
        }
    }

    // MARK: - Drawing

    private static func table(_ name: String, columns: Int, to targets: [String] = []) -> TableDetail {
        var table = TableDetail(name: name)
        table.columns = (0..<columns).map { .init(name: "column\($0)", type: "INTEGER", isKey: $0 == 0) }
        table.foreignKeys = targets.map { .init(columns: ["column1"], table: $0, targets: []) }
        return table
    }

    @Test func `No box of the drawing overlaps another`() {
        var random = SystemRandomNumberGenerator()
        let seed = random.next()
        var generator = SplitMix(seed: seed)
        for _ in 0..<100 {
            let count = Int.random(in: 1...EntityDiagram.maximumTables, using: &generator)
            let tables = (0..<count).map { index in
                Self.table(
                    "table\(index)\(String(repeating: "表", count: Int.random(in: 0...20, using: &generator)))",
                    columns: Int.random(in: 0...40, using: &generator),
                    to: (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                        "table\(Int.random(in: 0..<count, using: &generator))"
                    })
            }
            let diagram = EntityDiagram(tables)
            for (index, a) in diagram.boxes.enumerated() {
                #expect(a.x >= 0 && a.y >= 0, "seed \(seed)")
                #expect(
                    a.x + a.width <= diagram.width && a.y + a.height <= diagram.height, "seed \(seed)")
                for b in diagram.boxes[(index + 1)...] {
                    let areApart =
                        a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y
                        || b.y + b.height <= a.y
                    #expect(areApart, "\(a.table.name) and \(b.table.name), seed \(seed)")
                }
            }
        }
    }

    @Test func `What is referred to stands to the left`() throws {
        let diagram = EntityDiagram([
            Self.table("posting", columns: 3, to: ["transfer", "account"]),
            Self.table("account", columns: 3, to: ["currency", "account"]),
            Self.table("currency", columns: 1),
            Self.table("transfer", columns: 1), Self.table("a", columns: 2, to: ["b"]),
            Self.table("b", columns: 2, to: ["a", "gone"]),
        ])
        let x = Dictionary(uniqueKeysWithValues: diagram.boxes.map { ($0.table.name, $0.x) })
        #expect(x["currency"]! < x["account"]!)
        #expect(x["account"]! < x["posting"]!)
        #expect(x["transfer"]! < x["posting"]!)
        #expect(diagram.svg.components("class=\"edge\"") == 6)
    }
}

extension String {
    fileprivate func components(_ part: String) -> Int { ranges(of: part).count }

    fileprivate func trimmingSuffix(while isDropped: (Character) -> Bool) -> String {
        var text = self
        while let last = text.last, isDropped(last) { text.removeLast() }
        return text
    }
}

import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsCommands

/// The data of a report's page, unpacked by another program.
@Suite("Data of the report") struct ReportDataTests {
    /// Functions that unpack the blocks of a page and undo its changes.
    private static let reader = #"""
        import base64, json, re, sqlite3, sys, zlib
        page = open(sys.argv[1]).read()
        texts = dict(re.findall(r'<script type="text/plain" id="([^"]+)">([^<]*)</script>', page))
        size = sum(map(len, texts.values()))
        blocks = {name: json.loads(zlib.decompress(base64.b64decode(text))) for name, text in texts.items()}
        outline = blocks[re.search(r'data-outline="([^"]+)"', page)[1]]

        def value(cell):
            if isinstance(cell, dict):
                if "i" in cell: return int(cell["i"])
                if "r" in cell: return float(cell["r"])
                if "b" in cell: return bytes.fromhex(cell["b"])
            return cell

        def state(store, after):
            """The rows after a step, by table, from the rows at the failure and the changes of later steps."""
            tables = {}
            for table in store["tables"]:
                rows = [list(map(value, row)) for row in (blocks[table["block"]] if "block" in table else [])]
                keys = table.get("keys")
                tables[table["name"]] = {
                    tuple(row[:1] if keys is None else [row[key] for key in keys]): row[1:] if keys is None else row
                    for row in rows}
            changes = {}
            for range in store["changes"]:
                changes.update({int(step): change for step, change in blocks[range["block"]].items()})
            for step in reversed(range_of(store, after)):
                for index, rows, left in changes[step]:
                    assert left == 0
                    table = tables[store["tables"][index]["name"]]
                    for kind, key, cells in rows:
                        key = tuple(map(value, key))
                        if kind == "i":
                            assert table.pop(key) == list(map(value, cells)), (step, key)
                        elif kind == "d":
                            assert key not in table
                            table[key] = list(map(value, cells))
                        else:
                            for column, old, new in cells:
                                assert table[key][column] == value(new), (step, key, column)
                                table[key][column] = value(old)
            return {name: sorted(rows.values(), key=repr) for name, rows in tables.items()}

        def range_of(store, after): return range(after + 1, len(store["steps"]))

        """#

    private func read(_ page: String, _ program: String) throws -> String {
        let text = String(decoding: try FileSystem.contents(ofFile: page), as: UTF8.self)
        return try Program.python(Self.reader + program, text)
    }

    /// Statements that change tables with keys of each kind, one transaction each.
    private static func transactions(_ count: Int, seed: UInt64) -> [String] {
        var random = SplitMix(seed: seed)
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
        var statements = [
            "CREATE TABLE plain(a, b)",
            "CREATE TABLE named(name TEXT PRIMARY KEY, size REAL, content BLOB)",
            "CREATE TABLE pair(x INTEGER, y INTEGER, z, PRIMARY KEY (x, y)) WITHOUT ROWID",
        ]
        while statements.count < count {
            let n = number(12)
            statements.append(
                [
                    "INSERT INTO account VALUES (NULL, 'n\(n)', \(n))",
                    "UPDATE account SET balance = balance + \(n) WHERE id % 3 = \(n % 3)",
                    "DELETE FROM account WHERE id = \(n)",
                    "INSERT INTO plain VALUES (\(n), 'é\(n)'), (NULL, 9007199254740993)",
                    "UPDATE plain SET b = \(n).25 WHERE rowid % 2 = 0",
                    "DELETE FROM plain WHERE a = \(n)",
                    "INSERT OR REPLACE INTO named VALUES ('k\(n)', \(n) / 4.0, x'00FF')",
                    "UPDATE OR REPLACE named SET name = name || '+' WHERE name = 'k\(n)'",
                    "INSERT OR IGNORE INTO pair VALUES (\(n), \(n % 4), 'z')",
                    "UPDATE OR REPLACE pair SET z = NULL, y = y + 10 WHERE x = \(n)",
                    "DELETE FROM pair WHERE x < \(n % 5)",
                    "INSERT INTO account(name) SELECT name FROM named",
                ][number(12)])
        }
        return statements
    }

    @Test func `Each state can be rebuilt from the page`() throws {
        var generator = SystemRandomNumberGenerator()
        let seed = generator.next()
        // Half of the statements may have no effect.
        let transactions = Self.transactions(100, seed: seed)
        let fixture = try Fixture()
        let page = fixture.path("page.html")
        let bundle = try fixture.walBundle(
            transactions,
            uncommitted: "UPDATE account SET balance = -1; DELETE FROM plain WHERE rowid = 1")
        #expect(run("report", bundle, "-o", page).status == 0)
        // SQLite itself runs the same statements.
        let program = """
            base, transactions, uncommitted = \(Self.json([Fixture.base])), \(Self.json(transactions)), \\
                "UPDATE account SET balance = -1; DELETE FROM plain WHERE rowid = 1"
            store = outline["stores"][0]
            assert store["total"] > 30
            db = sqlite3.connect(":memory:")
            db.executescript(base[0])
            def content(): return {
                name: sorted(map(list, db.execute(f"SELECT * FROM {name}")), key=repr)
                for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()}
            states = [content()]
            for sql in transactions:
                db.executescript(sql)
                # A transaction without an effect isn't in the history.
                if (now := content()) != states[-1]: states.append(now)
            db.executescript(uncommitted)
            states.append(content())
            steps = store["steps"]
            assert steps[-1]["kind"] == "uncommitted" and "n" not in steps[-1]
            assert [step["n"] for step in steps[:-1]] == list(range(1, store["total"] + 1))
            found = [state(store, after) for after in range(-1, len(steps))]
            distinct = []
            for tables in found:
                tables = {name: rows for name, rows in tables.items()}
                if not distinct or tables != distinct[-1]: distinct.append(tables)
            filled = [{name: expected.get(name, []) for name in distinct[-1]} for expected in states]
            expected = [tables for index, tables in enumerate(filled) if index == 0 or tables != filled[index - 1]]
            assert distinct == expected, [i for i, (a, b) in enumerate(zip(distinct, expected)) if a != b][:3]
            print(len(distinct) > 20)
            """
        let found = try read(page, program)
        #expect(found == "True\n", "seed \(seed)")
    }

    private static func json(_ texts: [String]) -> String {
        "[" + texts.map { "\"\($0.replacing("\n", with: " "))\"" }.joined(separator: ", ") + "]"
    }

    @Test func `The newest changes and the rows that they concern come first`() throws {
        let fixture = try Fixture()
        let page = fixture.path("page.html")
        let fill =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
            + "INSERT INTO account SELECT 100 + i, hex(randomblob(20)), i FROM n"
        let transactions =
            [fill]
            + (1...300).map {
                "UPDATE account SET name = hex(randomblob(200)) WHERE id BETWEEN \(4000 + $0) AND \(4003 + $0)"
            }
        let bundle = try fixture.walBundle(transactions)
        #expect(run("report", bundle, "-o", page, "--max-bytes", "300KB").status == 0)
        let program = """
            store = outline["stores"][0]
            ranges = store["changes"]
            assert size < 61 * 1024, size
            assert store["total"] == 301 and len(store["steps"]) == 301
            assert ranges[-1]["to"] == 300 and 0 < ranges[0]["from"] < 290
            assert all(a["to"] + 1 == b["from"] for a, b in zip(ranges, ranges[1:]))
            table = store["tables"][0]
            assert table["count"] == 5002 and 50 < table["shown"] < 4000, table
            assert " of 5,002 rows are on this page, changed ones first" in table["note"]
            rows = blocks[table["block"]]
            assert len(rows) == table["shown"]
            newest = [key[0] for kind, key, cells in blocks[ranges[-1]["block"]]["300"][0][1]]
            assert [row[0] for row in rows[:4]] == newest == [4300, 4301, 4302, 4303], rows[:4]
            print("ok")
            """
        let found = try read(page, program)
        #expect(found == "ok\n")
        #expect(run("report", bundle, "-o", page, "--max-bytes", "much").status == 64)
    }

    @Test func `Steps have their statements, and transactions that were rolled back are among them`()
        throws
    {
        let fixture = try Fixture()
        let page = fixture.path("page.html")
        let source = #""source": {"file": "Sources/L.swift", "function": "f()", "line": 7}"#
        let bundle = try fixture.walBundle(
            log: StoryTests.log, facts: [15: source], message: StoryTests.message)
        #expect(run("report", bundle, "-o", page).status == 0)
        let program = """
            store = outline["stores"][0]
            print([(step["kind"], step.get("n"), step["label"]) for step in store["steps"]])
            print([[store["statements"][i]["sql"][:12] for i in step["statements"]] for step in store["steps"]])
            print([statement.get("quiet", False) for statement in store["statements"]][:5])
            print([statement.get("place") for statement in store["statements"]][15])
            print([(table["name"], table.get("dropped", False), [c["name"] for c in table["columns"]]) for table in store["tables"]])
            print([step.get("finding", False) for step in store["steps"]])
            print(store["steps"][0]["at"], store["steps"][0]["connection"], store["open"])
            """
        let expected = """
            [('transaction', 1, '1 row inserted into account, 1 row updated in account'), \
            ('transaction', 2, '2 rows inserted into entry, table entry created, user_version 4'), \
            ('rolledBack', None, '1 changed row discarded'), \
            ('transaction', 3, '2 rows deleted from account, 2 rows deleted from entry, table entry dropped')]
            [['UPDATE accou', 'INSERT INTO '], ['CREATE TABLE', 'INSERT INTO ', 'PRAGMA user_'], \
            ['BEGIN', 'INSERT INTO ', 'ROLLBACK'], ['DELETE FROM ', 'DROP TABLE e']]
            [True, True, False, False, True]
            Sources/L.swift:7
            [('account', False, ['id', 'name', 'balance']), ('entry', True, ['account', 'amount'])]
            [False, False, False, True]
            07:08:09.103 1 failure-artifacts open LedgerTests.testWAL-1a2b3c4d.zip

            """
        let found = try read(page, program)
        #expect(found == expected)
    }

    @Test func `The changes of a transaction that was rolled back last are unknown`() throws {
        let fixture = try Fixture()
        let page = fixture.path("page.html")
        let update = "UPDATE account SET balance = 0"
        let bundle = try fixture.walBundle(
            log: StoryTests.log + [("BEGIN", 0), (update, 2), ("ROLLBACK", 0)])
        #expect(run("report", bundle, "-o", page).status == 0)
        let label = try read(page, "print(outline['stores'][0]['steps'][-1]['label'])")
        #expect(label == "2 changed rows discarded\n")
    }

    @Test func `Long values are cut`() throws {
        let fixture = try Fixture()
        let page = fixture.path("page.html")
        let store = try fixture.store(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, value);
            INSERT INTO t VALUES (2, x'\(String(repeating: "AB", count: 100))'), (5, printf('%.*c', 900, 'x'));
            CREATE VIRTUAL TABLE f USING fts5(text); INSERT INTO f VALUES ('a');
            """)
        let bundle = try fixture.zip(
            "T.t-00000000.zip",
            [("metadata.json", Array(Metadata.store("s").utf8)), ("stores/s.sqlite", store)])
        #expect(run("report", bundle, "-o", page).status == 0)
        let program = """
            tables = {table["name"]: table for table in outline["stores"][0]["tables"]}
            for row in blocks[tables["t"]["block"]]: print(*[(k, len(v) if isinstance(v, str) else v) for k, v in row[1].items()])
            print([name for name, table in tables.items() if table.get("quiet")])
            """
        let expected = """
            ('b', 96) ('n', 100)
            ('t', 600) ('n', 900)
            ['f_config', 'f_content', 'f_data', 'f_docsize', 'f_idx']

            """
        let found = try read(page, program)
        #expect(found == expected)
    }
}

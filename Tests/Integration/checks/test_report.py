"""The report in a real browser: the page shows the stores' content, and runs none of it."""

import base64
import contextlib
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest
import urllib.parse
import zipfile

import browser
from harness import BUILD, TOOL, needs

AXE = BUILD / "axe" / "axe_playwright_python" / "axe.min.js"

HOSTILE = [
    None, 0, -1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1, 0.5, -1.5e300, "", " ", "NULL", "plain",
    "<script>window.broken = 1</script>", "</script><img src=x onerror='window.broken = 1'>", "<!--<script>",
    "]]>", "&lt;&amp;", "\"quotes\" and 'quotes'", "back\\slash", "line\nline", "tab\tcr\r", "nul\0nul", "\x01\x1b[31m\x7f",
    "\u2028\u2029", "\u202eright to left", "שלום", "مرحبا", "🙂👩‍👩‍👧", "e\u0301", "\ufeff", "\uffff", "javascript:alert(1)", b"", b"\x00\xff<script>", b"x" * 40,
]
SOURCE = {"file": "Sources/Ledger/A b.swift", "function": "Ledger.split<A>(_:)", "line": 42}
# A picture with one pixel.
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def shown(value):
    """The text of a cell on the page."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if isinstance(value, float):
        return repr(value)
    names = {"\t": "\\t", "\r": "\\r"}
    return HIDDEN.sub(lambda m: names.get(m[0], f"\\u{{{ord(m[0]):x}}}"), str(value))


def store(path, sql, *many):
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(sql)
        for statement, rows in many:
            database.executemany(statement, rows)
        database.commit()
    return path.read_bytes()


def metadata(suite="ReportTests", name="testHostile", message="failed", fingerprint="f0", job="test", stores=(), **more):
    return {
        "formatVersion": "1.0",
        "test": {"framework": "XCTest", "suite": suite, "name": name, "attempt": 1},
        "outcome": "failed", "fingerprint": fingerprint,
        "failures": [{
            "message": message, "file": "/actions/app/app/Tests/Report Tests.swift", "line": 42,
            "kind": "assertion", "at": "2026-11-21T07:08:09.120Z"}],
        "stores": list(stores), "attachments": [{"name": "<b>request</b>", "entry": "attachments/r.txt", "bytes": 6}],
        "environment": {
            "operatingSystem": "Debian 12", "architecture": "x86_64", "swift": "6.3", "sqlite": "3.40.1", "processID": 1,
            "ci": {"service": "GitHub Actions", "variables": {
                "GITHUB_JOB": job, "GITHUB_SERVER_URL": "https://github.example", "GITHUB_REPOSITORY": "owner/app",
                "GITHUB_SHA": "0123456789abcdef0123456789abcdef01234567"}}},
        "capture": {"at": "2026-11-21T07:08:09.123Z", "duration": 0.02, "limitsHit": []},
        "warnings": ["<i>A warning</i> with & and \"quotes\"."], **more}


def described(name, entry, **more):
    return {
        "name": name, "entry": entry, "originalPath": f"/tmp/<{name}>.sqlite", "storage": "file", "journalMode": "wal",
        "capture": {"method": "serialize", "consistent": True, "duration": 0.01, "checkpoint": "none"},
        "bytes": {"copy": 8192}, "integrity": "ok", **more}


def bundle(path, description, **entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metadata.json", json.dumps(description))
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def report(directory, *paths):
    output = directory / "report.html"
    process = subprocess.run([TOOL, "report", *map(str, paths), "-o", str(output)], cwd=directory, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return output


LEDGER = """
CREATE TABLE currency (code TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE account (id INTEGER PRIMARY KEY, name TEXT NOT NULL, parent INTEGER REFERENCES account,
  currency TEXT REFERENCES currency (code));
CREATE TABLE transfer (id INTEGER PRIMARY KEY, day TEXT, note TEXT);
CREATE TABLE posting (id INTEGER PRIMARY KEY, transferID INTEGER REFERENCES transfer (id),
  accountID INTEGER REFERENCES account (id), cents INTEGER NOT NULL);
CREATE TABLE setting (key TEXT PRIMARY KEY, value);
"""


@needs(browser.executable(), "Chromium")
class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        contexts = contextlib.ExitStack()
        cls.addClassCleanup(contexts.close)
        cls.directory = pathlib.Path(contexts.enter_context(tempfile.TemporaryDirectory(prefix="report <&> ")))
        wide = ", ".join(f'"c{i} <b>"' for i in range(200))
        cls.rows = [(i, value) for i, value in enumerate(HOSTILE)]
        cls.many = [(i, f"name {i * 7919 % 10_000}") for i in range(10_000)]
        cls.content = store(
            cls.directory / "hostile.sqlite",
            f"""CREATE TABLE "values" (id INTEGER PRIMARY KEY, value);
            CREATE TABLE "</script><script>window.broken=1</script>" (a, "</table>" TEXT);
            CREATE TABLE many (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE wide ({wide});
            CREATE TABLE long (value);""",
            ('INSERT INTO "values" VALUES (?, ?)', cls.rows),
            ("INSERT INTO many VALUES (?, ?)", cls.many),
            ('INSERT INTO "</script><script>window.broken=1</script>" VALUES (?, ?)', [("<b>", "&amp;")]),
            (f"INSERT INTO wide VALUES ({', '.join('?' * 200)})", [tuple(range(200)), tuple(f"<{i}>" for i in range(200))]),
            ("INSERT INTO long VALUES (?)", [("é" * 50_000,), (b"\1" * 50_000,)]))
        ledger = store(
            cls.directory / "ledger.sqlite", LEDGER,
            ("INSERT INTO currency VALUES (?, ?)", [("EUR", "Euro"), ("JPY", "円")]),
            ("INSERT INTO account VALUES (?, ?, ?, ?)", [(i, f"Account {i}", i // 2 or None, "EUR") for i in range(1, 9)]),
            ("INSERT INTO transfer VALUES (?, ?, ?)", [(i, "2026-03-01", "Electricity") for i in range(1, 30)]),
            ("INSERT INTO posting VALUES (?, ?, ?, ?)", [(i, i % 29 + 1, i % 8 + 1, i * 37 - 900) for i in range(1, 88)]))
        committed = store(
            cls.directory / "committed.sqlite", LEDGER,
            ("INSERT INTO currency VALUES (?, ?)", [("EUR", "Euro"), ("JPY", "円")]),
            ("INSERT INTO account VALUES (?, ?, ?, ?)", [(i, f"<Account> {i}", i // 2 or None, "EUR") for i in range(1, 8)]),
            ("INSERT INTO transfer VALUES (?, ?, ?)", [(i, "2026-03-01", "Electricity") for i in range(1, 30)]),
            ("INSERT INTO posting VALUES (?, ?, ?, ?)", [(i, i % 29 + 1, i % 8 + 1, i * 37 - 900) for i in range(1, 86)]))
        statements = "".join(
            json.dumps({
                "at": f"2026-11-21T07:08:0{8 + i // 20}.{i % 20 * 47:03}456Z", "changes": i % 3, "connection": 1 + i % 2,
                "duration": 0.004, "order": i, "phase": "test" if i > 4 else "earlier", "thread": "7f",
                "sql": "COMMIT" if i % 6 == 5 else f"INSERT INTO posting VALUES ({i}, '<script>')",
                **({"error": {"code": 19, "message": "UNIQUE constraint failed: <posting>"}} if i == 13 else {}),
                **({"source": SOURCE, "fullScanSteps": 20_000, "sorts": 1, "autoIndexes": 0} if i % 6 == 1 else {})}) + "\n"
            for i in range(22))
        (cls.directory / "bundles").mkdir()
        bundle(
            cls.directory / "bundles" / "ReportTests.testHostile-00000000.zip",
            metadata(message="<script>window.broken = 1</script>\n\x1b[31m\u202e \"&\"", stores=[
                described("hostile", "stores/hostile.sqlite")], attachments=[
                    {"name": "<b>request</b>", "entry": "attachments/r.txt", "bytes": 6},
                    {"name": "\"onerror='window.broken=1'", "entry": "attachments/p.png", "bytes": 70},
                    {"name": "bytes", "entry": "attachments/b.bin", "bytes": 2}]),
            **{"stores/hostile.sqlite": cls.content, "attachments/r.txt": "</pre><script>window.broken = 1</script>",
               "attachments/p.png": base64.b64decode(DOT), "attachments/b.bin": b"\0\1"})
        for number in range(3):
            bundle(
                cls.directory / "bundles" / f"LedgerTests.testMarch-0000000{number + 1}.zip",
                metadata(
                    "LedgerTests", "testMarch", "XCTAssertEqual failed: (\"4368\") is not equal to (\"4367\") - off by a cent",
                    "f1", f"shard-{number}", [described(
                        "ledger", "stores/ledger.sqlite", committedEntry="stores/committed.sqlite", transactionOpen=True,
                        statements={"entry": "statements/ledger.jsonl", "count": 22})],
                    capture={"at": f"2026-11-21T07:08:{9 + number * 4:02}.123Z", "duration": 0.02, "limitsHit": []}),
                **{"stores/ledger.sqlite": ledger, "stores/committed.sqlite": committed,
                   "statements/ledger.jsonl": statements})
        cls.file = report(cls.directory, cls.directory / "bundles")
        cls.page = contexts.enter_context(browser.page())

    def setUp(self):
        self.page.events.clear()
        self.page.show(1280, 900, "light")
        self.page.open("about:blank")
        self.page.open(self.file.as_uri())

    def tearDown(self):
        self.assertEqual(self.page.complaints, [])
        self.assertIsNone(self.page.run("window.broken ?? null"))
        others = [url for url in self.page.requested if not url.startswith("data:")]
        self.assertEqual(set(others) - {self.file.as_uri(), "about:blank"}, set())

    def failure(self, name):
        """Chooses a failure in the list, as a click does, and returns its selector."""
        identifier = self.page.run(f"""(() => {{
            const link = [...document.querySelectorAll('#list a')].find(a => a.textContent.includes({json.dumps(name)}));
            link.click();
            return link.hash; }})()""")
        self.page.wait(f"!document.querySelector('{identifier}').hidden && !!document.querySelector('{identifier} .tab')")
        return identifier

    def table(self, name):
        """Chooses a table of the shown failure; `g` is its grid."""
        self.page.run(f"""(() => {{
            window.tab = [...document.querySelectorAll('article:not([hidden]) .tab')].find(b => b.firstChild.data === {json.dumps(name)});
            for (let e = tab; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
            tab.click(); }})()""")
        self.page.wait(f"document.querySelector('article:not([hidden]) .grid')?.ariaLabel === {json.dumps('Rows of ' + name)}")
        self.page.wait(
            "[...document.querySelectorAll('article:not([hidden]) .tab[aria-pressed=true]')].some(b => b.textContent)")
        self.page.run("window.g = document.querySelector('article:not([hidden]) .grid'); 0")

    def rows_of(self, failure, table):
        self.failure(failure)
        self.table(table)
        return self.page.grid_rows()

    def test_rows(self):
        # The rows of the best finding come first.
        rows = sorted(self.rows_of("testHostile", "values"), key=lambda row: int(row[0]))
        self.assertEqual(rows, [[shown(cell) for cell in row] for row in self.rows])
        # Scrolling keeps the document small.
        self.table("many")
        self.page.run("g.scrollTop = 100_000; 0")
        self.assertLess(self.page.run("g.querySelectorAll('td').length"), 3000)
        self.assertEqual(self.rows_of("testHostile", "many"), [[shown(cell) for cell in row] for row in self.many])
        self.assertEqual(self.rows_of("testHostile", "</script><script>window.broken=1</script>"), [["<b>", "&amp;"]])

    def test_many_columns(self):
        """Only the columns in view are in the document, and scrolling reaches all of them."""
        self.failure("testHostile")
        self.table("wide")
        columns = {}
        width = self.page.run("g.scrollWidth")
        self.assertLess(self.page.run("g.querySelectorAll('thead th').length"), 60)
        for left in range(0, width, 600):
            self.page.run(f"g.scrollLeft = {left}; 0")
            self.page.next_frame()
            for number, name, first, second in self.page.run("""[...g.querySelectorAll('thead th')].map(h => [
                    h.dataset.column, h.textContent,
                    ...[...g.querySelectorAll(`tbody td[data-column="${h.dataset.column}"]`)].map(c => c.textContent)])"""):
                columns[int(number)] = (name, first, second)
        self.assertEqual(columns, {i: (f"c{i} <b>", str(i), f"<{i}>") for i in range(200)})

    def test_long_values_are_cut_and_say_so(self):
        text, blob = (row[0] for row in self.rows_of("testHostile", "long"))
        self.assertEqual(text, "é" * 120 + "…… 100,000 bytes")
        self.assertEqual(blob, "X'" + "01" * 48 + "'… 50,000 bytes" if len("X'" + "01" * 48) < 120 else blob)
        # The row itself has more of them.
        self.page.run("g.querySelector('tbody td[data-column]').click()")
        self.page.wait("!!document.querySelector('article:not([hidden]) .cells dd')")
        self.assertEqual(
            self.page.run("document.querySelector('article:not([hidden]) .cells dd').textContent"),
            "é" * 299 + "… 100,000 bytes")

    def test_sort_and_filter(self):
        self.failure("testHostile")
        self.table("many")
        first = "g.querySelector('tbody tr[data-index=\"0\"] td[data-column=\"1\"]').textContent"
        self.page.run("g.querySelectorAll('thead button')[1].click()")
        self.assertEqual(self.page.run(first), "name 0")
        self.assertEqual(self.page.run("g.querySelectorAll('thead th')[1].ariaSort"), "ascending")
        self.page.run("g.querySelectorAll('thead button')[1].click()")
        self.assertEqual(self.page.run(first), "name 9999")
        self.page.run("window.i = g.querySelectorAll('thead input')[1]; i.value = 'NAME 123'; i.dispatchEvent(new Event('input')); 0")
        found = sorted((name for _, name in self.many if "name 123" in name), reverse=True)
        self.assertEqual([row[1] for row in self.page.grid_rows()], found)
        status = "document.querySelector('article:not([hidden]) .summary').textContent"
        self.assertTrue(self.page.run(status).startswith(f"{len(found)} of 10,000 rows"))
        for text, test in ((">=9990", lambda i: i >= 9990), ("=17", lambda i: i == 17), ("<3", lambda i: i < 3)):
            self.page.run("for (const b of document.querySelectorAll('article:not([hidden]) .tools button')) if (b.textContent === 'clear filters') b.click(); 0")
            self.page.wait("g.querySelectorAll('thead input')[1].value === ''")
            self.page.run(f"i = g.querySelectorAll('thead input')[0]; i.value = {json.dumps(text)}; i.dispatchEvent(new Event('input')); 0")
            self.assertEqual(sorted(int(row[0]) for row in self.page.grid_rows()), [i for i, _ in self.many if test(i)], text)

    def test_searching_the_store(self):
        self.failure("testHostile")
        self.page.run("window.s = document.querySelector('article:not([hidden]) .store-search'); s.value = 'ONERROR'; s.dispatchEvent(new Event('input')); 0")
        self.page.wait("[...document.querySelectorAll('article:not([hidden]) .tab .found')].length > 3")
        found = self.page.run("Object.fromEntries([...document.querySelectorAll('article:not([hidden]) .tab')].map(b => [b.firstChild.data, b.querySelector('.found')?.textContent]))")
        self.assertEqual((found["values"], found["many"]), ("1 found", "0 found"))

    def test_values_sort_as_sqlite_sorts(self):
        self.failure("testHostile")
        self.table("values")
        self.page.run("g.querySelectorAll('thead button')[1].click()")
        with contextlib.closing(sqlite3.connect(self.directory / "hostile.sqlite")) as database:
            expected = [row[0] for row in database.execute('SELECT value FROM "values" ORDER BY value, id')]
        self.assertEqual([row[1] for row in self.page.grid_rows()], list(map(shown, expected)))

    def test_references(self):
        """References lead to other rows and back."""
        self.failure("testMarch")
        self.table("posting")
        self.page.run("[...g.querySelectorAll('tbody td[data-column=\"0\"]')].find(c => c.textContent === '4').click()")
        self.page.wait("!!document.querySelector('article:not([hidden]) .references')")
        links = "[...document.querySelectorAll('article:not([hidden]) .references button')]"
        self.page.run(f"{links}.find(b => b.textContent.startsWith('accountID')).click()")
        self.page.wait("document.querySelector('article:not([hidden]) .row-head h3')?.textContent === 'account, id 5'")
        self.page.wait(f"{links}.some(b => b.textContent.includes('of posting'))")
        text = self.page.run(f"(() => {{ const b = {links}.find(b => b.textContent.includes('of posting')); b.click(); return b.textContent; }})()")
        self.page.wait("document.querySelector('article:not([hidden]) .grid').ariaLabel === 'Rows of posting'")
        self.page.run("window.g = document.querySelector('article:not([hidden]) .grid'); 0")
        rows = self.page.grid_rows()
        self.assertEqual(text, f"{len(rows)} rows of posting, by accountID")
        self.assertEqual({row[2] for row in rows}, {"5"})

    def test_the_list(self):
        self.assertEqual(self.page.run("document.querySelectorAll('#list li').length"), 2)
        visible = "[...document.querySelectorAll('article')].filter(a => !a.hidden).map(a => a.id)"
        self.assertEqual(self.page.run(visible), ["f1"])
        self.page.press("j", 74, "j")
        self.page.wait("document.getElementById('f1').hidden")
        self.assertEqual(self.page.run(visible), ["f2"])
        self.page.press("k", 75, "k")
        self.page.wait("document.getElementById('f2').hidden")
        self.page.press("/", 191, "/")
        self.assertEqual(self.page.run("document.activeElement.id"), "search")
        # The search looks at the details, too, and hides them.
        self.page.run("search.value = 'a WARNING'; search.dispatchEvent(new Event('input')); 0")
        self.assertEqual(self.page.run("[...document.querySelectorAll('#list li')].map(l => l.hidden)"), [False, False])
        self.page.run("search.value = 'hostile'; search.dispatchEvent(new Event('input')); 0")
        self.assertEqual(self.page.run("[...document.querySelectorAll('#list li')].map(l => l.hidden)"), [True, False])
        self.page.wait("document.getElementById('f1').hidden")
        self.assertEqual(self.page.run("found.textContent"), "1 of 2 failures")

    def test_the_message(self):
        """The compared values are side by side, and the bundle can be downloaded."""
        self.assertEqual(self.page.run("[...document.querySelectorAll('#f1 .values dd')].map(d => d.textContent)"), ["4368", "4367"])
        link = self.page.run("document.querySelector('#f1 header a[download]').getAttribute('href')")
        self.assertTrue((self.directory / urllib.parse.unquote(link)).exists(), link)

    def test_the_statements_up_to_the_failure(self):
        rows = self.page.run(
            "[...document.querySelectorAll('#f1 .statements tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
        *statements, end = rows
        self.assertEqual([row[1] for row in statements], [str(1 + i % 2) for i in range(22)])
        for number, row in enumerate(statements):
            sql = "COMMIT" if number % 6 == 5 else f"INSERT INTO posting VALUES ({number}, '<script>')"
            error = "UNIQUE constraint failed: <posting> (19)" if number == 13 else ""
            notes = "Ledger.split<A>(_:) Sources/Ledger/A b.swift:42 · scanned at least 20,001 rows, 1 sort" if number % 6 == 1 else ""
            # A COMMIT changes no rows itself.
            changes = "" if sql == "COMMIT" else str(number % 3)
            self.assertEqual(row[2:], [sql + error + notes, changes, "4 ms"])
        self.assertEqual(
            set(self.page.run("[...document.querySelectorAll('#f1 .notes a')].map(a => a.href)")),
            {"https://github.example/owner/app/blob/0123456789abcdef0123456789abcdef01234567/Sources/Ledger/A%20b.swift#L42"})
        self.assertEqual(end[0::2], ["07:08:09.120", "/actions/app/app/Tests/Report Tests.swift:42"])

    def test_the_message_is_text(self):
        self.assertEqual(
            self.page.run("document.querySelector('#f2 .message .text').textContent"),
            '<script>window.broken = 1</script>\n\\u{1b}[31m\\u{202e} "&"')

    def test_every_text_of_the_metadata_is_text(self):
        mark = "</title></script></style><script>window.broken = 1</script>\"'><img src=x onerror='window.broken = 1'>"
        # The values with a fixed set, and the ones that locate an entry.
        known = {"formatVersion", "outcome", "kind", "at", "entry", "committedEntry", "storage", "method", "checkpoint",
                 "integrity"}

        def hostile(value, name=None):
            if isinstance(value, dict):
                return {key: hostile(content, key) for key, content in value.items()}
            if isinstance(value, list):
                return [hostile(content, name) for content in value]
            return mark + value if isinstance(value, str) and name not in known else value

        tables = [{"name": "t", "rows": 1, "exact": True}]
        schema = [{"type": "table", "name": "t", "table": "t", "sql": "CREATE TABLE t (a)"}]
        description = hostile(metadata(stores=[
            described("one", "stores/one.sqlite", tables=tables, schema=schema,
                      history={"transactions": 1, "bytes": 9, "reason": "r"},
                      statements={"entry": "statements/one.jsonl", "count": 1, "reason": "r"}),
            described("two", None, tables=tables)],
            snapshots=[{"label": "before", "at": "2026-11-21T07:08:09.120Z", "stores": [
                described("one", "snapshots/one.sqlite")]}]))
        content = (self.directory / "ledger.sqlite").read_bytes()
        statement = {"at": mark, "changes": 1, "connection": 1, "order": 1, "phase": "test", "thread": mark, "sql": mark,
                     "error": {"code": 1, "message": mark}, "source": {"file": mark, "function": mark, "line": 1}}
        folder = self.directory / "<script>window.broken = 1<"
        for shard in ("</script><script>window.broken = 1<", "b"):
            for number, outcome in enumerate(("failed", "crashed", "passed")):
                (folder / shard).mkdir(parents=True, exist_ok=True)
                bundle(
                    folder / shard / f"T.t<b>-0000000{number}.zip",
                    {**description, "outcome": outcome, "fingerprint": f"{mark}{number}"},
                    **{"stores/one.sqlite": content, "snapshots/one.sqlite": content,
                       "statements/one.jsonl": json.dumps(statement) + "\n"})
        self.addCleanup(shutil.rmtree, folder)
        self.page.open(report(folder, folder).as_uri())
        for number in range(1, self.page.run("document.querySelectorAll('article').length") + 1):
            self.page.run(f"location.hash = '#f{number}'")
            self.page.wait(f"!!document.querySelector('#f{number} .grid td')")
            self.page.run(f"document.querySelector('#f{number} .grid td[data-column]').click()")
        self.page.run("for (const d of document.querySelectorAll('details')) d.open = true; 0")
        self.assertGreater(self.page.run("document.body.textContent.split('window.broken = 1').length"), 60)
        self.assertEqual(self.page.run("document.querySelectorAll('body script:not([type]), img').length"), 1)
        self.page.events[:] = [event for event in self.page.events if event["method"] != "Network.requestWillBeSent"]

    def test_a_click_while_another_failure_is_still_opening(self):
        """A step that is shown after the click doesn't take the reader back to its own failure."""
        first = self.failure("testMarch")
        self.page.wait(f"document.querySelector('{first} .panel h3')?.textContent.startsWith('Not committed')")
        self.page.run("""(() => {
            dispatchEvent.call(document.body, new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true}));
            [...document.querySelectorAll('#list a')].find(a => a.textContent.includes('testHostile')).click(); })()""")
        self.page.wait("!document.querySelector('#f2').hidden && !!document.querySelector('#f2 .tab')")
        self.page.wait("location.hash.startsWith('#f2')")
        self.assertTrue(self.page.run(f"document.querySelector('{first}').hidden"))

    def test_attachments(self):
        self.assertEqual(
            self.page.run("document.querySelector('#f2 li pre').textContent"), "</pre><script>window.broken = 1</script>")
        self.failure("testHostile")
        self.page.run("for (const d of document.querySelectorAll('#f2 details')) d.open = true; 0")
        self.page.wait("document.querySelector('#f2 img').naturalWidth === 1")
        self.assertEqual(self.page.run("document.querySelector('#f2 img').alt"), "\"onerror='window.broken=1'")

    def test_what_was_not_committed(self):
        """The changes that were not committed are the last step, and the state before it lacks them."""
        self.failure("testMarch")
        self.page.wait("document.querySelector('#f1 .panel h3')?.textContent.startsWith('Not committed')")
        self.table("account")
        self.assertEqual(self.page.run("g.querySelectorAll('tbody tr.inserted').length"), 1)
        self.assertEqual(self.page.run("[...g.querySelectorAll('td.changed')].slice(0, 2).map(c => [c.textContent, c.title])"),
                         [["Account 1", "before: <Account> 1"], ["Account 2", "before: <Account> 2"]])
        after = self.page.grid_rows()
        self.page.run("document.activeElement?.blur(); 0")
        self.page.press("ArrowLeft", 37)
        self.page.wait("document.querySelector('#f1 .panel h3').textContent === 'Before the first step'")
        self.page.wait("g.querySelectorAll('tbody tr.inserted').length === 0")
        with contextlib.closing(sqlite3.connect(self.directory / "committed.sqlite")) as database:
            self.assertEqual(self.page.grid_rows(), [list(map(shown, row)) for row in database.execute("SELECT * FROM account")])
        self.page.press("End", 35)
        self.page.wait("g.querySelectorAll('tbody tr.inserted').length === 1")
        self.assertEqual(self.page.grid_rows(), after)

    def test_the_policy_is_in_force(self):
        policy = self.page.run("document.querySelector('meta[http-equiv=Content-Security-Policy]').content")
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.page.run("""const s = document.createElement('script'); s.textContent = 'window.broken = 1'; document.head.append(s);
            const p = document.createElement('p'); p.setAttribute('onclick', 'window.broken = 1'); document.body.append(p); p.click(); 0""")
        self.page.wait("window.broken === undefined")
        self.assertEqual(len(self.page.complaints), 2)
        self.page.events.clear()

    def test_readable_without_script(self):
        self.page.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.page.open(self.file.as_uri())
        finally:
            self.page.call("Emulation.setScriptExecutionDisabled", value=False)
        text = self.page.run("document.body.innerText")
        for part in ("ReportTests.testHostile", "off by a cent", "shown by the script"):
            self.assertIn(part, text)

    @needs(AXE.exists(), "axe-core")
    def test_accessibility(self):
        """In each state, the page has no problem that axe finds."""
        def check(state):
            self.page.run(AXE.read_text() + "; 0")
            found = self.page.run("axe.run().then(r => r.violations.map(v => [v.id, v.nodes.slice(0, 3).map(n => n.html)]))")
            self.assertEqual(found, [], state)

        for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light")):
            with self.subTest(width=width, scheme=scheme):
                self.page.show(width, 900, scheme)
                self.page.open(self.file.as_uri())
                self.page.wait("!!document.querySelector('#f1 .grid td')")
                check("at first")
                self.page.run("document.querySelector('#f1 .grid td[data-column]').click()")
                self.page.wait("!!document.querySelector('#f1 .blame, #f1 .references')")
                check("a row is chosen")
                self.page.run("for (const d of document.querySelectorAll('#f1 details')) d.open = true; 0")
                check("everything is open")
                self.page.run("document.getElementById('open-list').click()")
                check("the list is open")
                self.failure("testHostile")
                self.table("wide")
                check("a wide table")

    def test_phone(self):
        self.page.show(360, 740, "light")
        self.page.open(self.file.as_uri())
        self.page.wait("!!document.querySelector('#f1 .grid td')")
        self.page.run("for (const d of document.querySelectorAll('#f1 details')) d.open = true; 0")
        self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), 360)
        top = "document.querySelector('#f1 {}').getBoundingClientRect().top"
        places = [self.page.run(top.format(part)) for part in ("header", ".message", ".timeline", ".tables", ".panel", ".more")]
        self.assertEqual(places, sorted(set(places)))
        # The list is behind its button.
        self.assertIsNone(self.page.run("document.getElementById('list').offsetParent"))
        self.page.run("document.getElementById('open-list').click()")
        self.assertEqual(self.page.run("document.activeElement.hash"), "#f1")
        self.page.run("document.querySelectorAll('#list a')[1].click()")
        self.page.wait("!document.getElementById('f2').hidden")
        self.assertIsNone(self.page.run("document.getElementById('list').offsetParent"))

    def test_names_break_between_words(self):
        """The lines of a name begin with a word of it, also on a phone."""
        directory = self.directory / "names"
        directory.mkdir()
        content = store(
            directory / "names.sqlite", "CREATE TABLE ZPodcastEpisodePlaybackPosition (publicationDateOfTheNewestEpisode TEXT);",
            ("INSERT INTO ZPodcastEpisodePlaybackPosition VALUES (?)", [("2026-03-01",)]))
        name = "testAddingTwoFeedsWithTheSameEpisodesKeepsThePublicationDate"
        for number in range(2):
            bundle(
                directory / f"PodcastSubscriptionTests.test-0000000{number}.zip",
                metadata("PodcastSubscriptionTests", name, "x", f"n{number}", stores=[described("names", "stores/names.sqlite")]),
                **{"stores/names.sqlite": content})
        self.file = report(directory, directory)
        self.page.events.clear()
        for width in (390, 1280):
            self.page.show(width, 900, "light")
            self.page.open(self.file.as_uri())
            self.page.wait("!!document.querySelector('#f1 .grid td')")
            self.page.run("document.querySelector('#f1 .grid td[data-column]').click()")
            self.page.wait("!!document.querySelector('#f1 .cells dt')")
            self.page.run("if (innerWidth < 900) document.getElementById('open-list').click()")
            broken = self.page.run("""[...document.querySelectorAll('#f1 h2, #list b, #f1 .place code, #f1 .tab, #f1 .cells dt')]
                .filter(e => e.offsetParent).flatMap(element => {
                  const found = [], range = document.createRange(), walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
                  while (walker.nextNode()) {
                    const node = walker.currentNode, tops = [...node.data].map((_, i) => {
                      range.setStart(node, i); range.setEnd(node, i + 1); return range.getBoundingClientRect().top; });
                    for (let i = 1; i < tops.length; i += 1) if (tops[i] > tops[i - 1] + 4) found.push(node.data.slice(0, i));
                  }
                  return found; })""")
            self.assertEqual(broken, [], width)
            self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), width)
            self.assertGreater(self.page.run("document.querySelector('#f1 .cells dd').offsetWidth"), 80)

    def test_widths(self):
        """Nothing is wider than the window, numbers don't wrap, and the panel is beside the table where it fits."""
        for width in (390, 768, 1024, 1440, 2560):
            self.page.show(width, 900, "light")
            self.page.open("about:blank")
            self.page.open(self.file.as_uri())
            self.page.wait("!!document.querySelector('#f1 .grid td')")
            self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), width)
            high = self.page.run("[...document.querySelectorAll('#f1 .grid td.v-num, #f1 .n')].filter(c => c.offsetHeight > 40).length")
            self.assertEqual(high, 0)
            tables, panel = (self.page.run(f"document.querySelector('#f1 {part}').getBoundingClientRect().top")
                             for part in (".tables", ".panel"))
            self.assertEqual(tables == panel, width >= 1150)

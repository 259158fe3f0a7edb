"""The report's page as a person uses it: through time, and to the culprit."""

import contextlib
import json
import pathlib
import subprocess
import tempfile

import browser
from harness import SUITES, TOOL, SuiteCase, needs
from test_report import report

# The transactions before the first update create the tables and insert their rows.
FIRST = 4
CULPRIT = 321
TWO_TABLES = 400


TESTS = "Tests/RawSuite/ExplorerTests.swift"

STATES = (FIRST - 1, FIRST, 100, FIRST + CULPRIT - 1, FIRST + CULPRIT, FIRST + 500)


@needs(browser.executable(), "Chromium")
class ManySteps(SuiteCase):
    """A real failing test with 500 transactions on 10,000 rows."""

    @classmethod
    def setUpClass(cls):
        contexts = contextlib.ExitStack()
        cls.addClassCleanup(contexts.close)
        cls.directory = pathlib.Path(contexts.enter_context(tempfile.TemporaryDirectory(prefix="explorer ")))
        cls.page = contexts.enter_context(browser.page())
        cls.file = None

    def setUp(self):
        if not self.file:
            captured = self.leaves(
                "RawSuite.ExplorerTests/testManySteps", variables={"FAILURE_ARTIFACTS_STATEMENTS": "2000"})
            with captured.kept() as path:
                # A larger page has more time, which a debug build on a busy machine needs.
                type(self).file = report(self.directory, path, "--max-bytes", "40MB")
                # Another program rebuilds the states.
                type(self).states = {
                    number: self.state(path, number) for number in STATES}
                type(self).finding = captured.json("explain")["findings"][0]
        self.page.events.clear()
        self.page.show(1440, 1000, "light")
        self.page.open("about:blank")
        self.page.open(self.file.as_uri())
        self.page.wait("!!document.querySelector('.grid td')")
        self.page.run("window.g = document.querySelector('.grid'); 0")

    def tearDown(self):
        self.assertEqual(self.page.complaints, [])

    @staticmethod
    def state(path, number):
        sql = "SELECT id, cents FROM movement ORDER BY id"
        found = subprocess.run(
            [TOOL, "query", path, sql, "--at", str(number), "--json"], capture_output=True, text=True)
        assert found.returncode == 0, found.stderr
        return [[row["id"], row["cents"]] for row in json.loads(found.stdout)]

    def go(self, number):
        """Moves the scrubber, as a pointer does, to the state after a transaction."""
        self.page.run(f"""(() => {{ const r = document.querySelector('.scrubber input');
            r.value = {number}; r.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()""")
        self.page.wait(f"document.querySelector('.panel h3').textContent.startsWith('Transaction {number} ')")
        self.page.run("new Promise(done => setTimeout(done, 50))")

    def test_the_culprit_is_the_first_thing(self):
        """Without any action, the page shows the row, the transaction and the line."""
        text = self.page.run("document.querySelector('article:not([hidden])').innerText")
        self.assertIn("-9999", text)
        self.assertIn(f"Without transaction {FIRST + CULPRIT}, the query returns the expected 100", text)
        first = self.page.run("[...g.querySelectorAll('tbody tr.updated td')].map(c => c.textContent)")
        self.assertEqual(first[:3], [str(CULPRIT * 17), str(CULPRIT * 17 % 7), "-9999"])
        self.assertIn(f"Transaction {FIRST + CULPRIT} ", self.page.run("document.querySelector('.panel h3').textContent"))
        self.assertIn("ExplorerTests.swift:", self.page.run("document.querySelector('.panel .statement .place').textContent"))

    def test_states(self):
        """The rows of each state are those that the tool rebuilds, wherever the scrubber comes from."""
        for number in (*reversed(STATES), *STATES):
            self.go(number)
            rows = sorted([int(row[0]), int(row[2])] for row in self.page.grid_rows())
            self.assertEqual(rows, self.states[number], number)

    def test_keys(self):
        self.page.run("document.querySelector('.scrubber input').focus()")
        title = "document.querySelector('.panel h3').textContent"
        self.page.press("End", 35)
        self.page.wait(f"{title}.startsWith('Transaction {FIRST + 500} ')")
        self.page.press("ArrowLeft", 37)
        self.page.wait(f"{title}.startsWith('Transaction {FIRST + 499} ')")
        self.page.run("document.activeElement.blur()")
        self.page.press("ArrowLeft", 37)
        self.page.wait(f"{title}.startsWith('Transaction {FIRST + 498} ')")
        self.page.press("Home", 36)
        self.page.wait(f"{title} === 'Before the first step'")
        self.page.press("ArrowRight", 39)
        self.page.wait(f"{title}.startsWith('Transaction 1 ')")
        self.assertIn("after transaction 1", self.page.run("document.querySelector('.scrubber input').getAttribute('aria-valuetext')"))

    def test_runs_of_similar_steps_are_folded(self):
        items = self.page.run("[...document.querySelectorAll('.steps > li')].map(l => l.textContent)")
        self.assertLess(len(items), 12)
        self.assertTrue(any("× 1 row updated in movement" in item for item in items), items)
        self.page.run("[...document.querySelectorAll('.steps summary')].at(-1).click()")
        self.page.wait("document.querySelectorAll('.steps .step').length > 150")
        self.page.run("[...document.querySelectorAll('.steps .step')].find(b => b.textContent.startsWith('100 ')).click()")
        self.page.wait("document.querySelector('.panel h3').textContent.startsWith('Transaction 100 ')")

    def test_nothing_is_cut_or_empty(self):
        """The timeline shows whole rows at any place of its scrollbar. Nothing is empty beside the findings."""
        cut = """(() => {
            const list = document.querySelector('.steps'), box = list.getBoundingClientRect();
            return [...list.querySelectorAll('.step, summary')].filter(e => e.offsetParent).map(e => e.getBoundingClientRect())
              .filter(r => [box.top, box.bottom].some(edge => r.top < edge - 1 && r.bottom > edge + 1)).length; })()"""
        empty = """(() => {
            const top = document.querySelector('.top'), box = top.getBoundingClientRect();
            return Math.max(0, ...[...top.children].map(e => e.getBoundingClientRect())
              .filter(r => r.width < box.width).map(r => box.height - r.height)); })()"""
        for width in (390, 1280):
            self.page.show(width, 900, "light")
            self.page.run("document.querySelector('.steps details').open = true")
            self.page.wait("document.querySelector('.steps').scrollHeight > 300")
            for place in (0, 10, 50, 155, 100_000):
                self.page.run(f"document.querySelector('.steps').scrollTop = {place}")
                self.page.next_frame()
                self.assertEqual(self.page.run(cut), 0, (width, place))
            self.go(FIRST + CULPRIT)
            self.assertEqual(self.page.run(cut), 0, width)
            self.assertLess(self.page.run(empty), 40)

    def test_blame_of_a_cell(self):
        self.go(FIRST + CULPRIT)
        self.page.run("g.querySelector('tbody tr.updated td.changed').click()")
        self.page.wait("!!document.querySelector('.blame li')")
        blame = self.page.run("[...document.querySelectorAll('.blame li')].map(l => l.innerText.replace(/\\s+/g, ' '))")
        self.assertEqual(len(blame), 2)
        self.assertIn(f"transaction {FIRST + CULPRIT} updated cents 100 → -9999", blame[0])
        self.assertIn("ExplorerTests.swift:", blame[0])
        # The page doesn't have all rows of this transaction, and says so.
        self.assertIn(f"transaction {FIRST} may have changed it: 8,000 changed rows are not on this page", blame[1])

    def test_statements_on_other_tables_are_not_a_rows(self):
        """Also if they are of the same kind and in the same transaction, and name the row's table."""
        [line] = [number for number, line in enumerate((SUITES / TESTS).read_text().splitlines(), 1) if "UPDATE movement" in line]
        self.page.open("about:blank")
        self.page.open(f"{self.file.as_uri()}#f1/steps/{FIRST + TWO_TABLES}/movement/{TWO_TABLES * 17}")
        self.page.wait("!!document.querySelector('.blame li')")
        places = self.page.run("[...document.querySelector('.blame li').querySelectorAll('.facts')].map(e => e.innerText)")
        self.assertEqual([place.split()[-1] for place in places], [f"{TESTS}:{line}"])

    def test_a_deep_link(self):
        """The address names the store, the step, the table and the row, and leads there again."""
        self.go(100)
        self.page.run("g.querySelector('tbody tr.updated td.changed').click()")
        self.page.wait("!!document.querySelector('.blame li')")
        address = self.page.run("location.hash")
        self.assertEqual(address, f"#f1/steps/100/movement/%5B{(100 - FIRST) * 17}%5D")
        self.page.open("about:blank")
        self.page.open(self.file.as_uri() + address)
        self.page.wait(f"document.querySelector('.row-head h3')?.textContent === 'movement, id {(100 - FIRST) * 17}'")
        self.assertTrue(self.page.run("document.querySelector('.panel h3').textContent").startswith("Transaction 100 "))
        self.page.open("about:blank")
        self.page.open(self.file.as_uri() + "#f1/steps/7/movement/17")
        self.page.wait("document.querySelector('.row-head h3')?.textContent === 'movement, id 17'")

    def test_addresses_that_lead_nowhere(self):
        """They show the failure as if they named it alone."""
        for address in ("#f1/%E0%A4%A", "#f1/other/7", "#f9", "#f1/steps/99999/none/{", "#"):
            self.page.open("about:blank")
            self.page.open(self.file.as_uri() + address)
            self.page.wait("!!document.querySelector('.grid td')")

    def test_a_browser_that_cannot_unpack(self):
        """The page is as useful as without its script."""
        self.page.call("Page.enable")
        script = self.page.call("Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream")
        try:
            self.page.open("about:blank")
            self.page.open(self.file.as_uri())
            text = self.page.run("document.body.innerText")
        finally:
            self.page.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
        for part in (self.finding["title"], self.finding["explanation"], "ExplorerTests.swift:"):
            self.assertIn(part, text)

    def test_only_changed_rows(self):
        self.page.run("[...document.querySelectorAll('.toggle')].find(b => b.textContent === 'only changed').click()")
        self.page.wait("g.querySelectorAll('tbody tr[data-index]').length === 1")

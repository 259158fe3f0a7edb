"""A store in Core Data's layout, from the failing test to the tool's output."""

import contextlib
import csv
import io
import json
import pathlib
import subprocess
import sys
import tempfile

import browser
from harness import ROOT, TOOL, SuiteCase, clean_environment, launch, read

sys.path.append(str(ROOT / "Tests/FailureArtifactsTestFixtures"))
import store as layout  # noqa: E402

SELECTION = "KitSuite.CoreDataLayoutTests/testSaving"


class CoreDataStores(SuiteCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="core data ")
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        original, changes = cls.directory / "fruits.sqlite", cls.directory / "changes.sql"
        with contextlib.closing(layout.build(original, history=True)):
            pass
        changes.write_text(layout.CHANGES + layout.CHANGES_OF_HISTORY)
        process = launch(
            SELECTION, cls.directory,
            {"CORE_DATA_STORE": str(original), "CORE_DATA_CHANGES": str(changes)})
        found = read(process, cls.directory / "failure-artifacts")
        (cls.bundle,) = found.bundles

    def tool(self, command, *arguments, status=0):
        # The sample's copy of the tool may be older.
        result = subprocess.run(
            [TOOL, command, str(self.bundle.path), *arguments], capture_output=True, text=True,
            env=clean_environment(self.directory))
        self.assertEqual((result.returncode, result.stderr), (status, ""))
        return result.stdout

    def query(self, sql):
        text = self.tool("query", sql, "--entities", "--csv")
        return list(csv.reader(io.StringIO(text, newline="")))[1:]

    def test_show(self):
        model = json.loads(self.tool("show", "--json"))["coreData"]["果物"]
        self.assertEqual(model["uuid"], layout.UUID)
        tables = {entity["name"]: entity["table"] for entity in model["entities"]}
        self.assertEqual(tuple(tables)[:-3], layout.ENTITIES)
        self.assertEqual({name: tables[name] for name in tuple(tables)[-3:]}, {
            "CHANGE": "ACHANGE", "TRANSACTION": "ATRANSACTION", "TRANSACTIONSTRING": "ATRANSACTIONSTRING"})
        text = self.tool("show")
        self.assertIn("Citrus  2 objects", text)

    def test_query(self):
        self.assertEqual(
            self.query("SELECT _entity, name, pickedAt, basket FROM Fruit ORDER BY _id"),
            [["Fruit", "りんご", "2026-11-21T07:09:09.250Z", "2"],
             ["Citrus", "みかん", "1970-01-01T00:00:00.000Z", "1"],
             ["Citrus", "ゆず", "2026-11-21T07:08:09.250Z", "2"]])
        self.assertEqual(self.query("SELECT 名前 FROM 果物屋"), [["八百屋"]])

    def test_diff(self):
        tables = {table["name"]: table for table in json.loads(self.tool("diff", "--json", status=1))["tables"]}
        self.assertEqual(tables["ZFRUIT"]["entity"], "Fruit")
        changes = {change["change"]: change for change in tables["ZFRUIT"]["changes"]}
        self.assertEqual(changes["updated"]["columns"], {
            "basket": {"old": "Basket/p1", "new": "Basket/p2"},
            "pickedat": {"old": "2026-11-21T07:08:09.250Z", "new": "2026-11-21T07:09:09.250Z"}})
        self.assertEqual(changes["inserted"]["row"]["_entity"], "Citrus")

    def test_report(self):
        page = self.directory / "report.html"
        self.tool("report", "-o", str(page))
        text = browser.page_text(page)
        for part in ('"Fruit.tags"', '"basket"', layout.UUID):
            self.assertIn(part, text)

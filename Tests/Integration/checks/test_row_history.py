"""`bisect` and `blame` on bundles of failing tests agree with SQLite, which runs the logged statements again."""

import base64
import json
import sqlite3

from harness import SuiteCase
from test_source_lines import records

RAW = "RawSuite.RowHistoryTests/testLedger"
class Replay:
    """The states of a store after each of its transactions, and of the one that was open, by running its log."""

    def __init__(self, log, tables):
        self.tables = tables
        self.states = []
        database = sqlite3.connect(":memory:", isolation_level=None)
        database.execute("PRAGMA foreign_keys = on")
        for record in log:
            sql = record["sql"]
            if sql.upper().startswith(("PRAGMA", "SELECT")) or record.get("error"):
                continue
            before = self.content(database)
            was_open = database.in_transaction
            # Only GRDB's table of migrations gets a parameter.
            database.execute(sql, ["1"] * sql.count("?"))
            if database.in_transaction:
                continue
            if was_open or self.content(database) != before:
                self.add(database)
        self.has_open = database.in_transaction
        if self.has_open:
            self.add(database)

    @staticmethod
    def content(database):
        return [line for line in database.iterdump() if line not in ("BEGIN TRANSACTION;", "COMMIT;")]

    def add(self, database):
        copy = sqlite3.connect(":memory:")
        copy.executescript("\n".join(self.content(database)))
        state = {}
        names = {name for [name] in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table, key in self.tables.items():
            if table not in names:
                continue
            cursor = database.execute(f"SELECT {key}, * FROM {table}")
            columns = [description[0] for description in cursor.description]
            count = len(key.split(","))
            state[table] = {row[:count]: dict(zip(columns[count:], row[count:])) for row in cursor}
        self.states.append((state, copy))

    def answers(self, query):
        """The result in each state, from before the first transaction on; None if the query can't run."""
        found = [None]
        for _, copy in self.states:
            try:
                found.append(copy.execute(query).fetchall())
            except sqlite3.OperationalError:
                found.append(None)
        return found

    def touches(self, table, key):
        """The transactions that touched a row: number, kind, and the columns before and after."""
        found = []
        old = None
        for number, (state, _) in enumerate(self.states, 1):
            new = state.get(table, {}).get(key)
            if old != new:
                kind = "inserted" if old is None else "deleted" if new is None else "updated"
                names = [name for name in (old or new) if kind != "updated" or old[name] != new[name]]
                found.append((number, kind, {
                    name: {"before": plain((old or {}).get(name)), "after": plain((new or {}).get(name))}
                    for name in names}))
            old = new
        return found


def plain(value):
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def ranges(numbers):
    found = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


class RowHistory(SuiteCase):
    def tool(self, bundle, *arguments, status=(0,)):
        result = bundle.tool(*arguments, "--json")
        self.assertIn(result.returncode, status, result.stderr)
        return result.returncode, json.loads(result.stdout)

    def assertBisects(self, bundle, replay, query):
        answers = replay.answers(query)
        expected = ranges([number for number, rows in enumerate(answers) if rows])
        status, found = self.tool(bundle, "bisect", query, status=(0, 1))
        self.assertEqual(found["states"], expected, query)
        self.assertEqual(status, 0 if expected else 1)
        first = next((rows for rows in answers if rows is not None), None)
        expected = ranges([number for number, rows in enumerate(answers) if rows is not None and rows != first])
        status, found = self.tool(bundle, "bisect", query, "--changed", status=(0, 1))
        self.assertEqual(found["states"], expected, query)

    def assertBlames(self, bundle, replay, table, keys):
        for key, words in keys.items():
            _, found = self.tool(bundle, "blame", table, *words)
            touched = [
                (t.get("transaction", len(replay.states)), t["rows"][0]["change"], t["rows"][0]["columns"])
                for t in found["transactions"]]
            self.assertEqual(touched, replay.touches(table, key), (table, words))
            self.assertTrue(all(len(t["rows"]) == 1 for t in found["transactions"]))
            for transaction in found["transactions"]:
                self.assertTrue(transaction["statements"], (table, words))
                self.assertTrue(all("source" in statement for statement in transaction["statements"]))

    def test_the_c_interface(self):
        bundle = self.leaves(RAW)
        replay = Replay(records(bundle), {
            "account": "id", "rate": "day, currency", "token": "secret", "note": "rowid"})
        self.assertTrue(replay.has_open)
        self.assertEqual(self.tool(bundle, "bisect", "SELECT 1")[1]["transactionCount"], len(replay.states) - 1)
        for query in [
                "SELECT id FROM account WHERE cents < 0", "SELECT id FROM account WHERE id = 5",
                "SELECT sum(cents) FROM account", "SELECT 1 FROM fruit", "SELECT * FROM rate WHERE value = 1.25",
                "SELECT * FROM account WHERE id = 99", "SELECT text FROM note ORDER BY text",
                "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM account WHERE id = 5)"]:
            self.assertBisects(bundle, replay, query)
        self.assertBlames(bundle, replay, "account", {(id,): [str(id)] for id in range(1, 9)})
        self.assertBlames(bundle, replay, "rate", {
            ("2026-03-01", currency): ["2026-03-01", currency] for currency in ("EUR", "SEK")})
        self.assertBlames(bundle, replay, "token", {(b"\0\xff",): ["X'00FF'"], (b"\xff",): ["secret=X'FF'"]})
        self.assertBlames(bundle, replay, "note", {(1,): ["1"], (2,): ["WHERE text = 'second'"]})

"""The statements that the tool names for a transaction are those that SQLite committed with it, in small histories too;
`bisect` and `blame` agree with SQLite.

The oracle is SQLite: the checks run the log of a store again, and read after each statement what the store has or, for a
history from the WAL, how many transactions are in there.
"""

import base64
import contextlib
import json
import pathlib
import sqlite3
import struct
import tempfile

from harness import SuiteCase, run

RAW = "RawSuite.SmallHistoryTests/testSteps"
GRDB = "GRDBSuite.SmallHistoryTests/testPools"
WAL = "PRAGMA journal_mode = wal"
ITEM = "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, stock INTEGER)"
THREE = "INSERT INTO item VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)"

# The statements of each store, in autocommit mode or not. `2:` precedes a statement of the second connection.
SCENARIOS = {
    "one transaction": [
        WAL, ITEM],
    "two transactions": [
        ITEM, WAL, THREE, "UPDATE item SET stock = 9 WHERE id = 2"],
    "three transactions": [
        ITEM, WAL, THREE, "UPDATE item SET stock = 9 WHERE id = 2", "DELETE FROM item WHERE id = 1"],
    "five transactions": [
        WAL, ITEM, THREE, "UPDATE item SET stock = 9 WHERE id = 2", "UPDATE item SET stock = 8",
        "DELETE FROM item WHERE id = 1"],
    "update of no row": [
        WAL, ITEM, THREE, "UPDATE item SET stock = 9 WHERE id = 7", "UPDATE item SET stock = 8 WHERE id = 1"],
    "update to the same value": [
        WAL, ITEM, THREE, "UPDATE item SET stock = 1 WHERE id = 1", "UPDATE item SET stock = 8 WHERE id = 1",
        "UPDATE item SET stock = 8 WHERE id = 1"],
    "update of an indexed column to the same value": [
        WAL, ITEM, "CREATE INDEX i ON item (stock)", THREE, "UPDATE item SET stock = 1 WHERE id = 1",
        "UPDATE item SET stock = 8 WHERE id = 1", "UPDATE item SET stock = 8 WHERE id = 1",
        "UPDATE item SET stock = 8 WHERE id = 2"],
    "two connections": [
        WAL, ITEM, THREE, "2: UPDATE item SET stock = 9 WHERE id = 2", "UPDATE item SET stock = 9 WHERE id = 1",
        "2: UPDATE item SET stock = 7 WHERE id = 2", "INSERT INTO item VALUES (9, 'z', 9)",
        "2: INSERT INTO item VALUES (10, 'z', 9)"],
    "two connections waiting": [
        WAL, ITEM, THREE, "BEGIN IMMEDIATE", "2: UPDATE item SET stock = 9 WHERE id = 2",
        "UPDATE item SET stock = 9 WHERE id = 1", "2: BEGIN IMMEDIATE", "COMMIT",
        "2: UPDATE item SET stock = 7 WHERE id = 2"],
    "savepoints": [
        WAL, ITEM, THREE, "BEGIN", "SAVEPOINT a", "UPDATE item SET stock = 9", "ROLLBACK TO a", "RELEASE a",
        "DELETE FROM item WHERE id = 3", "COMMIT", "SAVEPOINT b", "UPDATE item SET stock = 5 WHERE id = 1",
        "RELEASE b"],
    "savepoint that undoes everything": [
        WAL, ITEM, THREE, "BEGIN", "SAVEPOINT a", "UPDATE item SET stock = 9", "ROLLBACK TO a", "RELEASE a", "COMMIT",
        "UPDATE item SET stock = 5 WHERE id = 1"],
    "insert select": [
        WAL, ITEM, THREE, "INSERT INTO item SELECT id + 10, name, stock FROM item",
        "INSERT INTO item SELECT id + 100, name, stock FROM item WHERE id > 1000",
        "CREATE TABLE copy AS SELECT * FROM item"],
    "upsert": [
        WAL, ITEM, THREE, "INSERT INTO item VALUES (2, 'x', 0) ON CONFLICT (id) DO UPDATE SET stock = stock + 1",
        "INSERT INTO item VALUES (2, 'x', 0) ON CONFLICT (id) DO NOTHING",
        "INSERT OR IGNORE INTO item VALUES (2, 'x', 0)",
        "INSERT INTO item VALUES (4, 'x', 0) ON CONFLICT (id) DO UPDATE SET stock = stock + 1"],
    "replace": [
        WAL, ITEM, THREE, "REPLACE INTO item VALUES (2, 'x', 0)", "INSERT OR REPLACE INTO item VALUES (2, 'x', 0)",
        "REPLACE INTO item VALUES (8, 'x', 0)"],
    "conflict clauses": [
        WAL, "CREATE TABLE code (id INTEGER PRIMARY KEY, name UNIQUE ON CONFLICT REPLACE)",
        "INSERT INTO code VALUES (1, 'a'), (2, 'b')", "INSERT INTO code VALUES (3, 'a')",
        "INSERT INTO code (name) VALUES ('b')", "UPDATE code SET name = 'a' WHERE name = 'b'"],
    "replacing updates": [
        WAL, ITEM, THREE, "UPDATE OR REPLACE item SET id = 1 WHERE id = 2", "UPDATE OR IGNORE item SET id = 1"],
    "triggers": [
        WAL, ITEM, "CREATE TABLE audit (item, old)",
        "CREATE TRIGGER t AFTER UPDATE ON item BEGIN INSERT INTO audit VALUES (old.id, old.stock); END", THREE,
        "UPDATE item SET stock = 9 WHERE id = 2", "UPDATE item SET stock = 9"],
    "trigger that deletes": [
        WAL, ITEM,
        "CREATE TRIGGER t AFTER INSERT ON item WHEN new.stock > 5 BEGIN DELETE FROM item WHERE id = new.id; END",
        THREE, "INSERT INTO item VALUES (6, 'f', 6)", "INSERT INTO item VALUES (4, 'f', 4)"],
    "instead of trigger": [
        WAL, ITEM, "CREATE VIEW v AS SELECT * FROM item",
        "CREATE TRIGGER t INSTEAD OF INSERT ON v BEGIN INSERT INTO item VALUES (new.id, new.name, new.stock); END",
        "INSERT INTO v VALUES (6, 'f', 6)", "INSERT INTO v VALUES (7, 'f', 6)"],
    "cascade": [
        WAL, ITEM, "CREATE TABLE sale (item REFERENCES item ON DELETE CASCADE)", "PRAGMA foreign_keys = on", THREE,
        "INSERT INTO sale VALUES (1), (1), (2)", "DELETE FROM item WHERE id = 1", "DELETE FROM item"],
    "cascade without another change": [
        WAL, ITEM, "CREATE TABLE sale (item REFERENCES item ON DELETE SET NULL)", "PRAGMA foreign_keys = on", THREE,
        "INSERT INTO sale VALUES (1), (1), (2)", "REPLACE INTO item VALUES (1, 'a', 1)"],
    "several statements in a transaction": [
        WAL, ITEM, "BEGIN", THREE, "UPDATE item SET stock = 9 WHERE id = 7", "UPDATE item SET stock = 9 WHERE id = 1",
        "COMMIT", "BEGIN", "UPDATE item SET stock = 9 WHERE id = 7", "COMMIT", "BEGIN",
        "INSERT INTO item VALUES (9, 'z', 9)", "DELETE FROM item WHERE id = 9", "COMMIT", "BEGIN",
        "DELETE FROM item WHERE id = 1", "ROLLBACK", "BEGIN", "DELETE FROM item WHERE id = 2", "END"],
    "schema changes with dependent objects": [
        WAL, ITEM, "CREATE INDEX by_name ON item (name)", "CREATE VIEW cheap AS SELECT * FROM item WHERE stock < 3",
        "CREATE TABLE sale (id INTEGER PRIMARY KEY, x REFERENCES item)",
        "CREATE TRIGGER log AFTER INSERT ON sale BEGIN UPDATE item SET stock = stock - 1 WHERE id = new.x; END",
        THREE, "ALTER TABLE item RENAME COLUMN stock TO pieces", "ALTER TABLE item RENAME TO product",
        "INSERT INTO sale(x) VALUES (1)", "DROP VIEW cheap", "DROP TRIGGER log", "DROP TABLE product",
        "DROP TABLE sale"],
    "virtual tables": [
        WAL, "CREATE VIRTUAL TABLE f USING fts5(t)", "INSERT INTO f VALUES ('hello'), ('world')", "DROP TABLE f",
        "CREATE VIRTUAL TABLE g USING rtree(id, a, b)", "INSERT INTO g VALUES (1, 2, 3)", "DROP TABLE g"],
    "soft delete": [
        WAL, ITEM,
        "CREATE TRIGGER t BEFORE DELETE ON item BEGIN UPDATE item SET stock = -1 WHERE id = old.id; "
        "SELECT RAISE(IGNORE); END",
        THREE, "DELETE FROM item WHERE id = 2", "DELETE FROM item"],
    "touch trigger": [
        WAL, ITEM, "CREATE TABLE audit (n)",
        "CREATE TRIGGER t AFTER UPDATE ON item BEGIN INSERT INTO audit VALUES (old.id); END", THREE,
        "UPDATE item SET stock = stock", "UPDATE item SET stock = 2 WHERE id = 2", "INSERT INTO audit VALUES (9)"],
    "table that is rebuilt": [
        WAL, ITEM, THREE, "BEGIN", "CREATE TABLE new_item (id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
        "INSERT INTO new_item SELECT id, name FROM item", "DROP TABLE item", "ALTER TABLE new_item RENAME TO item",
        "COMMIT", "UPDATE item SET name = 'x'"],
    "schema changes": [
        WAL, ITEM, "ALTER TABLE item ADD COLUMN color TEXT", "ALTER TABLE item RENAME COLUMN stock TO pieces",
        "ALTER TABLE item RENAME TO product", "CREATE INDEX i ON product (name)", "DROP INDEX i",
        "CREATE TABLE IF NOT EXISTS product (a)", "DROP TABLE IF EXISTS nothing",
        "INSERT INTO product VALUES (1, 'a', 1, 'red')", "ALTER TABLE product DROP COLUMN color",
        "DROP TABLE product"],
    "user version": [
        WAL, ITEM, "PRAGMA user_version = 3", THREE, "PRAGMA user_version = 3", "PRAGMA user_version = 4",
        "PRAGMA user_version", "PRAGMA application_id = 7", "UPDATE item SET stock = 0"],
    "checkpoint": [
        WAL, ITEM, THREE, "PRAGMA wal_checkpoint(TRUNCATE)", "UPDATE item SET stock = 9 WHERE id = 2",
        "DELETE FROM item WHERE id = 1"],
    "checkpoint passive": [
        WAL, ITEM, THREE, "PRAGMA wal_checkpoint", "UPDATE item SET stock = 9 WHERE id = 2",
        "DELETE FROM item WHERE id = 1"],
    "checkpoint before the last transaction": [
        WAL, ITEM, THREE, "UPDATE item SET stock = 1 WHERE id = 2", "PRAGMA wal_checkpoint(TRUNCATE)",
        "UPDATE item SET stock = 9 WHERE id = 2"],
    "checkpoint before the last two": [
        WAL, ITEM, THREE, "PRAGMA wal_checkpoint(TRUNCATE)",
        "INSERT INTO item VALUES (4, 'f', 4), (5, 'f', 4), (6, 'f', 4)", "UPDATE item SET stock = 9 WHERE id = 2"],
    "identical statements": [
        WAL, ITEM, "INSERT INTO item (name) VALUES ('a')", "INSERT INTO item (name) VALUES ('a')",
        "INSERT INTO item (name) VALUES ('a')", "UPDATE item SET name = 'b'", "UPDATE item SET name = 'c'"],
    "failing statements": [
        WAL, ITEM, THREE, "INSERT INTO item VALUES (1, 'a', 1)", "INSERT INTO nothing VALUES (1)",
        "INSERT INTO item VALUES (7, 'a', 1), (7, 'a', 1)", "UPDATE item SET stock = 5", "BEGIN",
        "INSERT INTO item VALUES (8, 'a', 1)", "INSERT INTO item VALUES (8, 'a', 1)", "COMMIT"],
    "common table expressions": [
        WAL, ITEM, "WITH n(x) AS (VALUES (1), (2)) INSERT INTO item SELECT x, 'a', x FROM n",
        "WITH n(x) AS (VALUES (1), (2)) UPDATE item SET stock = 9 WHERE id IN n",
        "WITH n(x) AS (VALUES (1), (2)) DELETE FROM item WHERE id IN n"],
    "returning": [
        WAL, ITEM, "INSERT INTO item VALUES (1, 'a', 1) RETURNING id", "UPDATE item SET stock = 3 RETURNING stock",
        "DELETE FROM item RETURNING id"],
    "without rowid": [
        WAL, "CREATE TABLE r (k TEXT PRIMARY KEY, v) WITHOUT ROWID", "INSERT INTO r VALUES ('a', 1), ('b', 2)",
        "UPDATE r SET k = 'c' WHERE k = 'a'", "UPDATE r SET v = 2 WHERE k = 'b'", "DELETE FROM r WHERE k = 'b'"],
    "key change": [
        WAL, ITEM, THREE, "UPDATE item SET id = id + 10", "UPDATE item SET id = 3 WHERE id = 13"],
    "quoted": [
        WAL, "CREATE TABLE \"my item\" (id INTEGER PRIMARY KEY, \"a b\")", "INSERT INTO \"my item\" VALUES (1, 2)",
        "UPDATE [my item] SET \"a b\" = 3", "DELETE FROM main.\"my item\""],
    "tables with similar names": [
        WAL, ITEM, "CREATE TABLE item_2 (a)", THREE, "INSERT INTO item_2 VALUES (1)",
        "INSERT INTO item VALUES (9, 'a', 1)"],
    "temporary tables": [
        WAL, ITEM, "CREATE TEMP TABLE x (a)", "INSERT INTO x VALUES (1)", THREE, "INSERT INTO x VALUES (2)",
        "UPDATE item SET stock = 9 WHERE id = 2", "BEGIN", "INSERT INTO x SELECT id FROM item",
        "DELETE FROM item WHERE id IN x", "COMMIT"],
    "vacuum": [
        WAL, ITEM, THREE, "DELETE FROM item", "VACUUM", "INSERT INTO item VALUES (9, 'a', 1)", "ANALYZE", "REINDEX"],
    "autoincrement": [
        WAL, "CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT, n)", "INSERT INTO a(n) VALUES (1), (2), (3)",
        "DELETE FROM a", "INSERT INTO a(n) VALUES (1)", "UPDATE a SET n = 2"],
    "generated": [
        WAL, "CREATE TABLE g (id INTEGER PRIMARY KEY, a, b GENERATED ALWAYS AS (a * 2) STORED)",
        "INSERT INTO g(a) VALUES (1), (2)", "UPDATE g SET a = 3", "UPDATE g SET a = 3 WHERE id = 1"],
    "connection that is too late": [
        WAL, ITEM, THREE, "BEGIN", "2: BEGIN", "UPDATE item SET stock = 9 WHERE id = 1", "COMMIT",
        "2: UPDATE item SET stock = 8 WHERE id = 1", "2: COMMIT", "2: UPDATE item SET stock = 7 WHERE id = 1"],
    "deferred transactions": [
        WAL, ITEM, THREE, "BEGIN", "2: BEGIN", "UPDATE item SET stock = 9 WHERE id = 1", "COMMIT", "2: SELECT 1",
        "2: UPDATE item SET stock = 8 WHERE id = 2", "BEGIN", "2: COMMIT", "UPDATE item SET stock = 3 WHERE id = 1",
        "COMMIT"],
    "open reader": [
        WAL, ITEM, THREE, "2: BEGIN", "2: SELECT * FROM item", "UPDATE item SET stock = 9 WHERE id = 1", "2: COMMIT",
        "UPDATE item SET stock = 8 WHERE id = 1"],
    "change of the journal mode": [
        ITEM, THREE, WAL, "UPDATE item SET stock = 8 WHERE id = 1", "PRAGMA journal_mode = delete",
        "UPDATE item SET stock = 7 WHERE id = 1", WAL, "UPDATE item SET stock = 6 WHERE id = 1"],
    "several statements in one call": [
        WAL, f"{ITEM}; {THREE}; UPDATE item SET stock = 9 WHERE id = 2"],
    "a cache that spills": [
        WAL, "PRAGMA cache_size = 5", ITEM,
        "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < 20000) "
        "INSERT INTO item SELECT x, 'name ' || x, x FROM n",
        "BEGIN", "UPDATE item SET stock = stock + 1", "UPDATE item SET name = 'x' WHERE id = 5", "COMMIT",
        "UPDATE item SET name = 'y' WHERE id = 5"],
    "a cache that spills and is rolled back": [
        WAL, "PRAGMA cache_size = 5", ITEM,
        "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < 20000) "
        "INSERT INTO item SELECT x, 'name ' || x, x FROM n",
        "BEGIN", "UPDATE item SET stock = stock + 1", "ROLLBACK", "UPDATE item SET name = 'y' WHERE id = 5"],
    "comment": [
        WAL, ITEM, "-- a comment\nINSERT INTO item VALUES (1, 'a', 1)", "/* x */ UPDATE item SET stock = 2"],
    "attached database": [
        WAL, ITEM, "ATTACH ':memory:' AS m", "CREATE TABLE m.x (a)", "INSERT INTO m.x VALUES (1)", THREE,
        "UPDATE item SET stock = 0 WHERE id = 1", "INSERT INTO m.x SELECT id FROM item",
        "DELETE FROM item WHERE id = 1"],
}


def commits(path):
    """Returns the salts of a WAL and the number of its transactions."""
    content = path.read_bytes() if path.exists() else b""
    if len(content) < 32:
        return None, 0
    page_size = struct.unpack(">I", content[8:12])[0]
    salts = content[16:24]
    count = 0
    for start in range(32, len(content) - page_size - 23, page_size + 24):
        if content[start + 8:start + 16] != salts:
            break
        # The last frame of a transaction has the size of the database.
        count += struct.unpack(">I", content[start + 4:start + 8])[0] > 0
    return salts, count


def content(path):
    """Returns what a store has, without the bytes of its header that mean nothing to a copy."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as database:
        try:
            found = bytearray(database.serialize())
        except sqlite3.OperationalError:
            # It has no page.
            return b""
    # A new database has one page, without a table.
    is_single = len(found) == int.from_bytes(found[16:18], "big")
    if is_single and found[100] == 13 and not any(found[60:64] + found[68:72] + found[103:105]):
        return b""
    for start, end in ((18, 20), (24, 28), (40, 44), (92, 100)):
        found[start:end] = bytes(end - start)
    return bytes(found)


def committed(log, source):
    """Runs a log again. Returns the statements of each transaction in the WAL, or of each one that changed the content.

    A transaction is a pair of sets: the statements that changed something, and all of the transaction's statements.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "again.sqlite"
        connections, statements, transactions = {}, {}, []
        known = (None, 0) if source == "wal" else b""
        for record in log:
            number, sql = record["connection"], record["sql"]
            if "error" in record:
                continue
            if number not in connections:
                connections[number] = sqlite3.connect(path, isolation_level=None, timeout=0)
            database, own = connections[number], statements.setdefault(number, [])
            if not database.in_transaction:
                own.clear()
            before = database.total_changes
            try:
                database.execute(sql).fetchall()
            except sqlite3.Error:
                pass
            words = sql.upper().split()
            if words[0] == "ROLLBACK" and "TO" in words:
                while own[-1][0]["sql"].upper().split()[-2:] != ["SAVEPOINT", words[-1]]:
                    own.pop()
            # What changes the temporary table `x` is part of no transaction of the file.
            isSeen = database.total_changes > before or words[0] in ("CREATE", "DROP", "ALTER")
            own.append((record, isSeen and " INTO x " not in sql))
            if source == "pages":
                now = content(path)
                if now != known:
                    transactions.append((
                        {record["order"] for record, changed in own if changed}, {record["order"] for record, _ in own}))
                known = now
                continue
            now = commits(path.with_name(path.name + "-wal"))
            if now[0] != known[0]:
                transactions.clear()
                known = (now[0], 0)
            assert now[1] - known[1] in (0, 1), sql
            if now[1] > known[1]:
                transactions.append((
                    {record["order"] for record, changed in own if changed}, {record["order"] for record, _ in own}))
            known = now
        for database in connections.values():
            database.close()
        return transactions


class SmallHistory(SuiteCase):
    def bundle(self, steps):
        """Leaves the bundle of a test that runs some statements."""
        pairs = [step.split(": ", 1) if step[:2] == "2:" else ["1", step] for step in steps]
        found = run(RAW, {"SUITE_STEPS": json.dumps(pairs)})
        self.assertTidy(found, 1)
        return found.bundles[0]

    def assertNamesStatements(self, bundle, unknown=()):
        """`history` names the statements of each transaction but the `unknown` ones, and nothing names others."""
        log = bundle.statements(bundle.described("small"))
        sql = {record["order"]: record["sql"] for record in log}
        expected = committed(log, bundle.described("small")["history"]["source"])
        found = bundle.json("history", "--store", "small")["transactions"]
        self.assertEqual(len(found), len(expected))
        for transaction, (needed, possible) in zip(found, expected):
            orders = {statement["order"] for statement in transaction.get("statements", [])}
            texts = [sql[order] for order in sorted(needed)], [sql[order] for order in sorted(orders)]
            self.assertLessEqual(orders, possible, texts)
            if transaction["number"] not in unknown:
                self.assertLessEqual(needed, orders, texts)
        # The rows of the table `item`, and the findings.
        texts = [{sql[order] for order in possible} for _, possible in expected]
        rows = bundle.tool("blame", "item", "WHERE 1", "--store", "small", "--json")
        touched = json.loads(rows.stdout)["transactions"] if rows.returncode == 0 else []
        for transaction in touched:
            number = transaction["transaction"]
            named = {statement["sql"] for statement in transaction["statements"]}
            self.assertLessEqual(named, texts[number - 1])
            self.assertTrue(named or number in unknown)
        # An attached store has transactions of its own.
        for finding in bundle.json("explain", "--all")["findings"]:
            if finding.get("store") == "small" and "transaction" in finding and "statement" in finding:
                self.assertIn(finding["statement"]["sql"], texts[finding["transaction"] - 1])
        return touched

    def test_statements_of_one_connection_and_two(self):
        for name, steps in SCENARIOS.items():
            with self.subTest(name):
                self.assertNamesStatements(self.bundle(steps))

    def test_rows_are_blamed(self):
        touched = self.assertNamesStatements(self.bundle(SCENARIOS["five transactions"]))
        self.assertEqual([transaction["transaction"] for transaction in touched], [2, 3, 4, 5])

    def test_a_commit_that_failed_ends_nothing(self):
        self.assertNamesStatements(self.bundle([
            WAL, ITEM, "CREATE TABLE sale (item REFERENCES item DEFERRABLE INITIALLY DEFERRED)",
            "PRAGMA foreign_keys = on", "BEGIN", "INSERT INTO sale VALUES (1)", "COMMIT",
            "INSERT INTO item VALUES (1, 'a', 1)", "COMMIT"]))

    def test_more_transactions_than_the_log_keeps_statements(self):
        """Queries between them are counted, writes aren't."""
        insert, update = "INSERT INTO item VALUES (@, 'a', -1);", "UPDATE item SET stock = @ WHERE id = @;"
        both = f"{insert} SELECT @", f"BEGIN IMMEDIATE; SELECT max(id) FROM item; {update} COMMIT"
        for store, journal in (("small", "delete"), ("small", "wal"), ("memory", "memory")):
            connection = "memory" if store == "memory" else "1"
            steps = [f"PRAGMA journal_mode = {journal}", "PRAGMA wal_autocheckpoint = 0", ITEM]
            steps = [[connection, step] for step in steps] + [[connection, step, "750"] for step in both]
            with self.subTest(journal):
                found = run(RAW, {"SUITE_STEPS": json.dumps(steps)})
                self.assertTidy(found, 1)
                bundle = found.bundles[0]
                transactions = bundle.json("history", "--store", store)["transactions"]
                named = [[statement["sql"] for statement in one.get("statements", [])] for one in transactions]
                expected = [[step.replace("@", str(number))] for step in (insert, update) for number in range(750)]
                # Comparing the lists as a whole would take minutes if they differed.
                self.assertEqual(len(named), 1501)
                for name, statement in zip(named[1:], expected):
                    self.assertEqual(name, statement)
                for key in (0, 700):
                    blamed = json.loads(bundle.tool("blame", "item", str(key), "--store", store, "--json").stdout)
                    self.assertEqual(
                        [statement["sql"] for one in blamed["transactions"] for statement in one["statements"]],
                        [step.replace("@", str(key)) for step in (insert, update)])
                records = bundle.statements(bundle.described(store))
                self.assertEqual(len([record for record in records if "repeated" not in record]), 1000)
                self.assertTrue(all("source" in record for record in records if record["sql"] == expected[0][0]))

    def test_pools_of_grdb(self):
        touched = self.assertNamesStatements(self.leaves(GRDB))
        self.assertGreater(len(touched), 3)


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
    def assertBisects(self, bundle, replay, query):
        answers = replay.answers(query)
        expected = ranges([number for number, rows in enumerate(answers) if rows])
        found = bundle.json("bisect", query, statuses=(0 if expected else 1,))
        self.assertEqual(found["states"], expected, query)
        first = next((rows for rows in answers if rows is not None), None)
        expected = ranges([number for number, rows in enumerate(answers) if rows is not None and rows != first])
        found = bundle.json("bisect", query, "--changed", statuses=(0, 1))
        self.assertEqual(found["states"], expected, query)

    def assertBlames(self, bundle, replay, table, keys):
        for key, words in keys.items():
            found = bundle.json("blame", table, *words)
            touched = [
                (t.get("transaction", len(replay.states)), t["rows"][0]["change"], t["rows"][0]["columns"])
                for t in found["transactions"]]
            self.assertEqual(touched, replay.touches(table, key), (table, words))
            self.assertTrue(all(len(t["rows"]) == 1 for t in found["transactions"]))
            for transaction in found["transactions"]:
                self.assertTrue(transaction["statements"], (table, words))
                self.assertTrue(all("source" in statement for statement in transaction["statements"]))

    def test_the_c_interface(self):
        bundle = self.leaves("RawSuite.RowHistoryTests/testLedger")
        replay = Replay(bundle.statements(bundle.described("ledger")), {
            "account": "id", "rate": "day, currency", "token": "secret", "note": "rowid"})
        self.assertTrue(replay.has_open)
        self.assertEqual(bundle.json("bisect", "SELECT 1")["transactionCount"], len(replay.states) - 1)
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

"""The databases to measure with, made by a seeded generator and kept in `.build/benchmark/stores`."""

import contextlib
import os
import random
import sqlite3

from places import STORES

MEBIBYTE = 1 << 20
# Increased when the content changes, so that older files are not used.
VERSION = 1


class Rows:
    """Rows like those of applications; deflate compresses them to about 0.45 of their size.

    Prose, addresses and JSON come from a pool. A repeated piece usually comes far beyond deflate's window of 32 KiB.
    Every eighth row has an incompressible BLOB.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)
        letters = "eeeeeetttttaaaaooooiiinnnsssrrrhhldcumfpgwybvk"
        words = ["".join(self.random.choices(letters, k=self.random.randint(2, 10))) for _ in range(6000)]
        weights = [1 / (rank + 3) for rank in range(len(words))]
        self.prose = " ".join(self.random.choices(words, weights, k=600_000))
        self.json = "".join(
            f'{{"id":{self.random.getrandbits(40)},"kind":"{self.random.choice(words)}",'
            f'"at":"2026-{self.random.randint(1, 12):02}-{self.random.randint(1, 28):02}",'
            f'"tags":["{self.random.choice(words)}","{self.random.choice(words)}"]}},' for _ in range(20_000))

    def piece(self, text, shortest, longest):
        start = self.random.randrange(len(text) - longest)
        return text[start:start + self.random.randint(shortest, longest)]

    def __iter__(self):
        number = 0
        while True:
            number += 1
            blob = self.random.randbytes(self.random.randint(200, 1600)) if number % 8 == 0 else None
            yield (
                f"{self.random.getrandbits(128):032x}", 1_760_000_000 + number * 7,
                self.piece(self.prose, 20, 60), self.piece(self.prose, 100, 1400), self.piece(self.json, 80, 700),
                self.random.random() * 1000, blob)


def fill(path, size, seed):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript("""
            PRAGMA page_size = 4096; PRAGMA journal_mode = off; PRAGMA synchronous = off;
            PRAGMA secure_delete = off;
            CREATE TABLE note (id INTEGER PRIMARY KEY, uuid TEXT NOT NULL, changed INTEGER NOT NULL,
                title TEXT NOT NULL, body TEXT NOT NULL, settings TEXT, score REAL, image BLOB);
            CREATE INDEX note_changed ON note (changed);
            CREATE INDEX note_title ON note (title);
            BEGIN;
            """)
        rows = iter(Rows(seed))
        while True:
            database.executemany(
                "INSERT INTO note (uuid, changed, title, body, settings, score, image) VALUES (?,?,?,?,?,?,?)",
                (next(rows) for _ in range(max(1, min(2000, size // 4000)))))
            [pages] = database.execute("PRAGMA page_count").fetchone()
            if pages * 4096 >= size:
                break
        database.execute("COMMIT")


def free_a_third(path):
    """Deletes rows, so that their pages become free but keep their content."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript("PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA secure_delete = off")
        [last] = database.execute("SELECT max(id) FROM note").fetchone()
        [pages] = database.execute("PRAGMA page_count").fetchone()
        first = last // 3
        while database.execute("PRAGMA freelist_count").fetchone()[0] * 3 < pages:
            database.execute("DELETE FROM note WHERE id BETWEEN ? AND ?", (first, first + last // 40))
            first += last // 40 + 1


def kept(name, make):
    """Returns the path of the database with this name. If it doesn't exist, `make` creates it at a given path."""
    os.makedirs(STORES, exist_ok=True)
    path = STORES / f"v{VERSION}-{name}.sqlite"
    if not path.exists():
        partial = path.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        make(partial)
        os.replace(partial, path)
    return path


def store(size, free=False):
    """Returns the path of a database of about `size` bytes. With `free`, a third of its pages is free but not empty."""
    def make(path):
        fill(path, size, seed=size)
        if free:
            free_a_third(path)
    return kept(f"{size}{'-free' if free else ''}", make)


def wide(rows, columns):
    """Returns the path of a database with one table of many columns."""
    def make(path):
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute(f"CREATE TABLE wide ({', '.join(f'c{i}' for i in range(columns))})")
            database.executemany(
                f"INSERT INTO wide VALUES ({', '.join('?' * columns)})",
                ([i * j % 97 for j in range(columns)] for i in range(rows)))
            database.commit()
    return kept(f"wide-{rows}-{columns}", make)


def ledger(rows):
    """The path of a store with five tables and `rows` rows, of which the postings of one transfer don't add up."""
    def make(path):
        count = rows // 5
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.executescript("""
                CREATE TABLE account (id INTEGER PRIMARY KEY, name TEXT NOT NULL, owner TEXT);
                CREATE TABLE transfer (id INTEGER PRIMARY KEY, day TEXT NOT NULL, memo TEXT);
                CREATE TABLE posting (id INTEGER PRIMARY KEY, transferID INTEGER NOT NULL REFERENCES transfer,
                    accountID INTEGER NOT NULL REFERENCES account, cents INTEGER NOT NULL);
                CREATE TABLE tag (name TEXT PRIMARY KEY, color TEXT) WITHOUT ROWID;
                CREATE TABLE log (at TEXT, text TEXT);
                CREATE INDEX posting_transfer ON posting (transferID);
                """)
            accounts = max(2, count // 100)
            database.executemany(
                "INSERT INTO account VALUES (?, ?, ?)", ((i, f"Account {i}", f"Owner {i}") for i in range(accounts)))
            database.executemany(
                "INSERT INTO transfer VALUES (?, ?, ?)", ((i, f"2026-03-{i % 28 + 1:02}", f"Memo {i}") for i in range(count)))
            database.executemany(
                "INSERT INTO posting (transferID, accountID, cents) VALUES (?, ?, ?)",
                ((i // 2, i % accounts, i // 2 * (1 - i % 2 * 2) + (i == count // 2)) for i in range(2 * count)))
            database.executemany("INSERT INTO tag VALUES (?, 'red')", ((f"tag{i}",) for i in range(count)))
            database.executemany(
                "INSERT INTO log VALUES (?, 'text')", ((str(i),) for i in range(rows - 4 * count - accounts)))
            database.commit()
    return kept(f"ledger-{rows}", make)


def fill_with_rows(path, rows, changed=0):
    """Creates a table with `rows` rows. A seeded choice of `changed` rows differs: a fifth is missing."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript("""
            PRAGMA journal_mode = off; PRAGMA synchronous = off;
            CREATE TABLE note (id INTEGER PRIMARY KEY, uuid TEXT NOT NULL, changed INTEGER NOT NULL,
                title TEXT NOT NULL, score REAL);
            BEGIN;
            """)
        database.executemany("INSERT INTO note VALUES (?, ?, ?, ?, ?)", (
            (number, uuid, date, title, score)
            for number, (uuid, date, title, _, _, score, _) in zip(range(1, rows + 1), Rows(rows))))
        picked = [(number,) for number in random.Random(changed).sample(range(1, rows + 1), changed)]
        database.executemany("DELETE FROM note WHERE id = ?", picked[:changed // 5])
        database.executemany("UPDATE note SET score = -1 WHERE id = ?", picked[changed // 5:])
        database.execute("COMMIT")


def pair(rows, changed):
    """The paths of two databases with a table of `rows` rows each, of which `changed` differ."""
    return [
        kept(f"rows-{rows}-before", lambda path: fill_with_rows(path, rows)),
        kept(f"rows-{rows}-after", lambda path: fill_with_rows(path, rows, changed))]

"""The databases that are measured, made by a seeded generator and kept under `.build/benchmark/stores`."""

import contextlib
import os
import random
import sqlite3

from places import STORES

MEBIBYTE = 1 << 20
# Raised when what is made changes, so that older files are not taken for it.
VERSION = 1


class Rows:
    """Rows as applications have them; deflate takes them to about 0.45 of their size.

    Prose, addresses and JSON come from a pool that is made once: a piece that comes again does so, as a rule, far
    beyond the 32 KiB that deflate looks back. Every eighth row has a BLOB that nothing can shrink.
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
    """Deletes rows whose pages become free, and keep what was in them."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript("PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA secure_delete = off")
        [last] = database.execute("SELECT max(id) FROM note").fetchone()
        [pages] = database.execute("PRAGMA page_count").fetchone()
        first = last // 3
        while database.execute("PRAGMA freelist_count").fetchone()[0] * 3 < pages:
            database.execute("DELETE FROM note WHERE id BETWEEN ? AND ?", (first, first + last // 40))
            first += last // 40 + 1


def kept(name, make):
    """The path of the database of this name, which `make` makes at the path that it gets where there is none."""
    os.makedirs(STORES, exist_ok=True)
    path = STORES / f"v{VERSION}-{name}.sqlite"
    if not path.exists():
        partial = path.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        make(partial)
        os.replace(partial, path)
    return path


def store(size, free=False):
    """The path of a database of about `size` bytes, where `free`, a third of its pages free but not empty."""
    def make(path):
        fill(path, size, seed=size)
        if free:
            free_a_third(path)
    return kept(f"{size}{'-free' if free else ''}", make)


def fill_with_rows(path, rows, changed=0):
    """A table of so many rows, of which a seeded `changed` have another value, or are not there: a fifth of them."""
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
    """The paths of two databases with a table of so many rows each, of which `changed` differ."""
    return [
        kept(f"rows-{rows}-before", lambda path: fill_with_rows(path, rows)),
        kept(f"rows-{rows}-after", lambda path: fill_with_rows(path, rows, changed))]

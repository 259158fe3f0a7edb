"""Makes a WAL store with a random workload, and keeps the state after each transaction in its WAL.

    workload.py SEED DIRECTORY

DIRECTORY gets `store.sqlite` with `-wal` and, usually, `-shm`. It also gets `copy.sqlite` (the last state, copied in
one of several ways) and `states/N.sqlite`. Prints the features that occurred, one per line.
"""

import os
import random
import shutil
import sqlite3
import struct
import sys

import wal

seed, directory = int(sys.argv[1]), sys.argv[2]
choice = random.Random(seed)
path = os.path.join(directory, "store.sqlite")
states_directory = os.path.join(directory, "states")
os.makedirs(states_directory)
occurred = set()

page_size = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536][seed % 8]
auto_vacuum = seed // 8 % 3
scenario = ["plain", "backfilled", "restarted"][seed // 2 % 3]
secure_delete = choice.random() < 0.3
occurred |= {"page_size %d" % page_size, "auto_vacuum %d" % auto_vacuum, scenario}


def connect():
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("PRAGMA synchronous = off")
    connection.execute("PRAGMA secure_delete = %d" % secure_delete)
    return connection


store = connect()
store.execute("PRAGMA page_size = %d" % page_size)
store.execute("PRAGMA auto_vacuum = %d" % auto_vacuum)
assert store.execute("PRAGMA journal_mode = wal").fetchone()[0] == "wal"

states = []
generation = None
commits = 0


def image(connection):
    """Returns the pages that a connection sees, as a stand-alone file."""
    if hasattr(connection, "serialize"):
        result = connection.serialize()
    else:
        # Before Python 3.11. Only the counters in the header differ.
        target = os.path.join(directory, "image")
        backup = sqlite3.connect(target)
        backup.execute("PRAGMA synchronous = off")
        connection.backup(backup)
        backup.close()
        with open(target, "rb") as file:
            result = file.read()
        os.remove(target)
    return result[:18] + b"\1\1" + result[20:]


def keep():
    """Keeps the current state, if there was a transaction."""
    global states, generation, commits
    # This drops the locks of the process; nothing else has the files open.
    with open(path + "-shm", "rb") as file:
        last_frame = struct.unpack_from("=I", file.read(), 16)[0]
    with open(path + "-wal", "rb") as file:
        log = file.read()
    starts = range(32, 32 + last_frame * (24 + page_size), 24 + page_size)
    count = sum(1 for start in starts if log[start + 4:start + 8] != bytes(4))
    if log[16:24] != generation:
        if generation and states:
            states = states[-1:]
            occurred.add("generation")
        generation = log[16:24]
        commits = 0
    if count > commits:
        assert count == commits + 1, (count, commits)
        states.append(image(store))
        commits = count


tables = []
counter = 0


def blob():
    kind = choice.random()
    if kind < 0.15:
        occurred.add("overflow")
        return choice.randbytes(choice.randint(page_size, min(3 * page_size, 20000) + page_size))
    return choice.randbytes(choice.randint(0, 80)) if kind < 0.6 else "りんご" * choice.randint(0, 9)


def create():
    global counter
    counter += 1
    name = "t%d" % counter
    if choice.random() < 0.4:
        store.execute("CREATE TABLE %s(k TEXT PRIMARY KEY, v, w DEFAULT 7) WITHOUT ROWID" % name)
        occurred.add("without_rowid")
    else:
        store.execute("CREATE TABLE %s(k, v, w DEFAULT 7)" % name)
    tables.append(name)
    if choice.random() < 0.4:
        store.execute("CREATE INDEX i_%s ON %s(v)" % (name, name))
    insert(name)


def table():
    return choice.choice(tables)


def insert(name=None, rows=None):
    name = name or table()
    for _ in range(rows or choice.randint(1, 40)):
        key = "%016x" % choice.getrandbits(64)
        store.execute("INSERT INTO %s(k, v) VALUES (?, ?)" % name, (key, blob()))


def update():
    name = table()
    store.execute("UPDATE %s SET v = ? WHERE k < ?" % name, (blob(), "%x" % choice.randrange(16)))


def delete():
    name = table()
    store.execute("DELETE FROM %s WHERE k > ?" % name, ("%x" % choice.randrange(16),))
    occurred.add("delete")


def drop():
    if len(tables) > 2:
        store.execute("DROP TABLE %s" % tables.pop(choice.randrange(len(tables))))
        occurred.add("drop")


def alter():
    store.execute("ALTER TABLE %s ADD COLUMN c%d DEFAULT 'x'" % (table(), choice.randrange(10**9)))


def version():
    store.execute("PRAGMA user_version = %d" % choice.randrange(1000))


def savepoint():
    store.execute("PRAGMA cache_size = 6")
    insert()
    store.execute("SAVEPOINT s")
    insert(rows=60)
    update()
    store.execute("ROLLBACK TO s")
    insert()
    store.execute("RELEASE s")
    store.execute("PRAGMA cache_size = -2000")
    occurred.add("savepoint")


def abort():
    """A transaction that outgrows the cache, writes frames to the WAL, and is rolled back."""
    size = os.path.getsize(path + "-wal")
    store.execute("PRAGMA cache_size = 6")
    store.execute("BEGIN")
    insert(rows=100)
    delete()
    grown = os.path.getsize(path + "-wal") > size
    store.execute("ROLLBACK")
    store.execute("PRAGMA cache_size = -2000")
    if grown:
        occurred.add("spilled_abort")


def vacuum():
    store.execute("VACUUM")
    occurred.add("vacuum")


def incremental_vacuum():
    before = store.execute("PRAGMA page_count").fetchone()
    store.execute("PRAGMA incremental_vacuum(%d)" % choice.randint(1, 9)).fetchall()
    if store.execute("PRAGMA page_count").fetchone() < before:
        occurred.add("incremental_vacuum")


alone = [vacuum, incremental_vacuum, abort]


def step():
    action = choice.choices(
        [create, insert, update, delete, drop, alter, version, savepoint, vacuum, incremental_vacuum, abort],
        [3, 6, 4, 5, 2, 1, 1, 2, 1, 2 if auto_vacuum == 2 else 0, 2])[0]
    if action in alone:
        action()
    else:
        store.execute("BEGIN")
        action()
        store.execute("COMMIT")
    keep()


# Write the content from before the WAL's first transaction.
for _ in range(4):
    create()
for _ in range(choice.randint(0, 3)):
    delete()
store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
states = [image(store)]

steps = choice.randint(12, 25)
for number in range(steps):
    if scenario == "backfilled" and number == steps // 2:
        # With odd seeds, a reader keeps newer frames out of the database.
        reader = connect()
        if seed % 2:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM sqlite_master").fetchall()
            occurred.add("backfilled in part")
            step()
        busy, log, done = store.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        assert done > 0 or log == 0
        # A reader uses the WAL, so that it is not restarted.
        if not seed % 2:
            occurred.add("backfilled")
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM sqlite_master").fetchall()
    if scenario == "restarted" and number == steps // 2:
        assert store.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0] == 0
        states = [image(store)]
    step()
if len(states) == 1:
    insert(rows=1)
    keep()

for number, state in enumerate(states):
    with open(os.path.join(states_directory, "%d.sqlite" % number), "wb") as file:
        file.write(state)

_, valid = wal.frames(path + "-wal")
with open(path + "-shm", "rb") as file:
    if struct.unpack_from("=I", file.read(), 16)[0] > len(valid):
        # A defect of SQLite, at least of 3.40.1: after ROLLBACK TO, frames that were written again may lack valid
        # checksums. Only this process can read them.
        occurred.add("broken")
if os.path.getsize(path + "-wal") > 32 + len(valid) * (page_size + 24):
    occurred.add("tail")

# Make the copy that belongs to the history, in one of the possible ways.
copy = os.path.join(directory, "copy.sqlite")
way = choice.choice(["image", "backup", "fold", "zeroed", "zeroed"])
occurred.add("copy " + way)
if way == "backup":
    target = sqlite3.connect(copy)
    target.execute("PRAGMA synchronous = off")
    store.backup(target)
    target.execute("PRAGMA journal_mode = delete")
    target.close()
elif way == "fold":
    for suffix in ("", "-wal"):
        shutil.copyfile(path + suffix, copy + suffix)
    target = sqlite3.connect(copy)
    target.execute("PRAGMA synchronous = off")
    assert target.execute("PRAGMA journal_mode = delete").fetchone()[0] == "delete"
    target.close()
else:
    pages = bytearray(states[-1])
    if way == "zeroed":
        trunk = struct.unpack_from(">I", pages, 32)[0]
        while trunk:
            start = (trunk - 1) * page_size
            trunk, count = struct.unpack_from(">2I", pages, start)
            for leaf in struct.unpack_from(">%dI" % count, pages, start + 8):
                pages[(leaf - 1) * page_size:leaf * page_size] = bytes(page_size)
                occurred.add("zeroed leaf")
    open(copy, "wb").write(pages)

if seed % 5 == 3:
    wal.swap_checksums(path + "-wal")
    occurred.add("big-endian")
else:
    occurred.add("little-endian")
if "broken" in occurred:
    print("broken", flush=True)
    os._exit(0)
# SQLite itself finds the last state in the files, including the rewritten ones.
for suffix in ("", "-wal"):
    shutil.copyfile(path + suffix, os.path.join(directory, "check.sqlite") + suffix)
check = sqlite3.connect(os.path.join(directory, "check.sqlite"))
check.execute("PRAGMA synchronous = off")
assert wal.meaningful(image(check)) == wal.meaningful(states[-1])
check.close()
if choice.random() < 0.25:
    os.remove(path + "-shm")
    occurred.add("no shm")

print("\n".join(sorted(occurred)), flush=True)
# Exit without closing, like a killed process, so that the files stay as they are.
os._exit(0)

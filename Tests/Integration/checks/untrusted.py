"""Malicious bundles, written byte by byte without this project's code."""

import contextlib
import functools
import io
import json
import os
import pathlib
import sqlite3
import struct
import tempfile
import zipfile
import zlib

ENVIRONMENT = {
    "operatingSystem": "Debian 12", "architecture": "x86_64", "swift": "6.3", "sqlite": "3.40.1", "processID": 42}
CAPTURE = {"method": "fileCopy", "consistent": True, "duration": 0, "checkpoint": "none"}


def described(name="ledger", **more):
    """The metadata of a store."""
    return {
        "name": name, "entry": "stores/ledger.sqlite", "storage": "file", "capture": CAPTURE, "bytes": {}, **more}


def metadata(*stores, **more):
    """The metadata of a bundle. By default, its first store has every optional part."""
    stores = stores or (
        described(
            committedEntry="stores/ledger.committed.sqlite", transactionOpen=True,
            history={"entry": "history/ledger.wal-history", "transactions": 1, "bytes": 1},
            statements={"entry": "statements/ledger.jsonl", "count": 1}),)
    return {
        "formatVersion": "1.0",
        "test": {"framework": "XCTest", "suite": "LedgerTests", "name": "testTransfer", "attempt": 1},
        "outcome": "failed", "fingerprint": "0123456789abcdef",
        "failures": [{"message": "m", "file": "a.swift", "line": 1, "kind": "assertion",
                      "at": "2026-11-21T07:08:09.120Z"}],
        "stores": list(stores), "attachments": [], "environment": ENVIRONMENT,
        "capture": {"at": "2026-11-21T07:08:09.123Z", "duration": 0, "limitsHit": []}, "warnings": [], **more}


def database(*scripts, functions=()):
    """The bytes of a store that scripts create."""
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "a.sqlite"
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA page_size = 4096")
            for function, count in functions:
                db.create_function(function, count, lambda *_: 1, deterministic=True)
            for script in scripts:
                db.executescript(script)
        return path.read_bytes()


BEFORE = "CREATE TABLE account(id INTEGER PRIMARY KEY, name, balance); INSERT INTO account VALUES (1, 'a', 10)"
GOOD = database(BEFORE)
CHANGED = database(BEFORE, "UPDATE account SET balance = 5")


def history(states, initial=None, page=4096, size=None, **wrong):
    """A history file: see Documentation.docc. Images are lists of (number, bytes)."""
    initial = images(GOOD) if initial is None else initial
    changed = [image for _, pages in states for image in pages]
    head = b"WAL-hist" + struct.pack(
        "<IIIIQQ", wrong.get("version", 1), page, size if size is not None else len(GOOD) // page,
        wrong.get("transactions", len(states)), wrong.get("first", len(initial)),
        wrong.get("changed", len(changed)))
    result = head.ljust(64, b"\0") + b"".join(struct.pack("<I", number) for number, _ in initial)
    result += b"".join(struct.pack("<II", size, len(pages)) for size, pages in states)
    result += b"".join(struct.pack("<I", number) for number, _ in changed)
    return result + b"".join(image for _, image in initial + changed)


def images(store, page=4096):
    return [(index + 1, store[index * page:(index + 1) * page]) for index in range(len(store) // page)]


GOOD_HISTORY = history([(len(CHANGED) // 4096, images(CHANGED))])
STATEMENT = json.dumps({
    "at": "2026-11-21T07:08:09.120Z", "connection": 1, "order": 1, "phase": "test", "changes": 1,
    "sql": "UPDATE account SET balance = 5", "thread": "7f"}).encode() + b"\n"


def entries(**changes):
    """The entries of a good bundle. `changes` replaces content, by the last part of an entry's name."""
    result = {
        "metadata.json": json.dumps(metadata()).encode(),
        "stores/ledger.sqlite": GOOD, "stores/ledger.committed.sqlite": CHANGED,
        "history/ledger.wal-history": GOOD_HISTORY, "statements/ledger.jsonl": STATEMENT}
    names = {"metadata": "metadata.json", "store": "stores/ledger.sqlite",
             "committed": "stores/ledger.committed.sqlite", "history": "history/ledger.wal-history",
             "statements": "statements/ledger.jsonl"}
    for key, content in changes.items():
        result[names[key]] = json.dumps(content).encode() if isinstance(content, dict) else content
    return result


def packed(content, method=zipfile.ZIP_DEFLATED):
    """A zip written by Python."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return file.getvalue()


class Entry:
    """An entry whose fields can all be wrong: `local_…` in its own header, `central_…` in the directory."""

    def __init__(self, name, data=b"", raw=None, method=8, flags=0x800, external=0o100600 << 16, **wrong):
        self.name = name if isinstance(name, bytes) else name.encode()
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        self.raw = raw if raw is not None else packer.compress(data) + packer.flush() if method == 8 else data
        self.values = dict(
            name=self.name, method=method, flags=flags, crc=zlib.crc32(data), size=len(data),
            compressed=len(self.raw), extra=b"", disk=0, external=external, offset=None)
        self.wrong = wrong

    def field(self, where, key):
        return self.wrong.get(f"{where}_{key}", self.wrong.get(key, self.values[key]))

    def local(self):
        def get(key):
            return self.field("local", key)

        return struct.pack(
            "<IHHHHHIIIHH", 0x04034B50, 20, get("flags"), get("method"), 0, 0x5A21, get("crc"), get("compressed"),
            get("size"), len(get("name")), len(get("extra"))) + get("name") + get("extra") + self.raw

    def central(self, offset):
        def get(key):
            return self.field("central", key)

        offset = offset if get("offset") is None else get("offset")
        return struct.pack(
            "<IHHHHHHIIIHHHHHII", 0x02014B50, 0x0314, 20, get("flags"), get("method"), 0, 0x5A21, get("crc"),
            get("compressed"), get("size"), len(get("name")), len(get("extra")), 0, get("disk"), 0, get("external"),
            offset) + get("name") + get("extra")


def forged(parts, prefix=b"", comment=b"", between=b"", zip64=None, **end):
    """An archive of such entries. `end` has wrong values for the last record."""
    result, directory = prefix, b""
    for part in parts:
        directory += part.central(len(result) - end.get("shift", 0))
        result += part.local() + part.wrong.get("after", b"")
    start = len(result)
    result += directory + between
    if zip64 is not None:
        count, size, offset = zip64
        place = len(result)
        result += struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, offset)
        result += struct.pack("<IIQI", 0x07064B50, 0, place, 1)
    count = end.get("count", len(parts))
    return result + struct.pack(
        "<IHHHHIIH", 0x06054B50, end.get("disk", 0), end.get("disk", 0), count, count,
        end.get("size", len(directory)), end.get("offset", start), end.get("length", len(comment))) + comment


def good(**changes):
    """The good entries in a form that can be forged."""
    return [Entry(name, data) for name, data in entries(**changes).items()]


def bomb(size, name="stores/ledger.sqlite"):
    """An entry of zeros with maximum compression."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = bytes(1 << 20)
    # After a full flush, the compressor starts anew, so it would repeat these bytes for each block.
    compressed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    raw = compressed * (size >> 20) + packer.flush()
    crc = functools.reduce(lambda crc, _: zlib.crc32(block, crc), range(size >> 20), 0)
    return Entry(name, raw=raw, crc=crc, size=size)


# The commands that must fail: all, those that read the store, or none.
ALL = ("list", "show", "explain", "open", "query", "history", "diff", "extract", "verify", "report")
STORE = ("open", "query", "extract", "verify")


def archives():
    """Cases of archives: a name, bytes, and the commands that must fail."""
    whole = packed(entries())
    for part in range(1, 8):
        yield f"cut at {part}/8", whole[:len(whole) * part // 8], ALL
    yield "without its last byte", whole[:-1], ALL
    first = len(whole) // 3
    flipped = bytearray(whole)
    flipped[first] ^= 1
    yield "a bit flipped", bytes(flipped), ()
    yield "empty", b"", ALL
    yield "no entries", forged([]), ALL

    one, two = Entry("metadata.json", entries()["metadata.json"]), Entry("a", b"x" * 500)
    yield "overlapping entries", forged([one, Entry("a", b"x" * 500, central_offset=0)]), ALL
    yield "entries inside of one another", forged([one, two, Entry("b", b"y", central_compressed=1 << 20)]), ALL
    yield "the same name twice", forged([*good(), Entry("metadata.json", b"{}")]), ALL
    yield "a wrong CRC", forged([*good()[:1], Entry("stores/ledger.sqlite", GOOD, crc=1), *good()[2:]]), STORE
    yield "a size too small", forged(
        [*good()[:1], Entry("stores/ledger.sqlite", GOOD, size=100), *good()[2:]]), STORE
    yield "a size too large", forged(
        [*good()[:1], Entry("stores/ledger.sqlite", GOOD, size=1 << 20), *good()[2:]]), STORE
    for key, value in [("name", b"stores/other"), ("method", 0), ("crc", 7), ("size", 9), ("flags", 1)]:
        lie = Entry("stores/ledger.sqlite", GOOD, **{f"local_{key}": value})
        yield f"another {key} in its own header", forged([*good()[:1], lie, *good()[2:]]), STORE
    yield "an offset beyond the end", forged([one, Entry("a", b"x", central_offset=0xFFFFFF00)]), ALL

    huge = struct.pack("<HHQQ", 1, 16, 1 << 62, 1 << 62)
    yield "ZIP64: impossible sizes", forged(
        [one, Entry("a", b"x", central_extra=huge, central_size=0xFFFFFFFF, central_compressed=0xFFFFFFFF)]), ALL
    yield "ZIP64: no values", forged([one, Entry("a", b"x", central_size=0xFFFFFFFF)]), ALL
    yield "ZIP64: endless entries", forged([one], zip64=(1 << 60, 1 << 60, 0), count=0xFFFF, size=0xFFFFFFFF), ALL
    yield "ZIP64: entries that are not there", forged([one], zip64=(999_999, 60, 400), count=0xFFFF), ALL

    for name in ["/etc/cron.d/evil", "../evil", "a/../../evil", "a\\..\\evil", "..\\evil", "C:\\evil", "C:/evil",
                 "evil\0.txt", "", "a/..", "\\\\server\\share"]:
        yield f"an entry named {name!r}", forged([*good(), Entry(name, b"evil")]), ALL
    yield "an entry with a line end and an escape in its name", forged([*good(), Entry("a\n\x1b[31m", b"x")]), ()
    yield "devices", forged([*good(), *(Entry(name, b"x") for name in ("CON", "nul.txt", "dev/null", "aux"))]), ()
    yield "a name of 60,000 bytes", forged([*good(), Entry("n" * 60_000, b"x")]), ("extract",)
    yield "a file that is a directory too", forged([*good(), Entry("a", b"x"), Entry("a/b", b"x")]), ("extract",)
    yield "empty parts of a name", forged([*good(), Entry("a//b", b"x"), Entry("./c", b"x")]), ("extract",)
    yield "a symbolic link", forged([*good(), Entry("link", b"/etc/passwd", external=0o120777 << 16)]), ALL
    yield "a link and what is below", forged(
        [*good(), Entry("l", b"..", external=0o120777 << 16), Entry("l/evil", b"x")]), ALL
    yield "a device and a pipe", forged(
        [*good(), Entry("d", b"", external=0o060666 << 16), Entry("p", b"", external=0o010666 << 16)]), ()

    descriptor = Entry(
        "stores/ledger.sqlite", GOOD, flags=0x808, local_crc=0, local_size=0, local_compressed=0,
        after=struct.pack("<IIII", 0x08074B50, zlib.crc32(GOOD), 1, len(GOOD)))
    yield "a data descriptor", forged([*good()[:1], descriptor, *good()[2:]]), ()
    yield "encryption", forged([*good()[:1], Entry("stores/ledger.sqlite", GOOD, flags=0x801), *good()[2:]]), ALL
    yield "an unknown method", forged(
        [*good()[:1], Entry("stores/ledger.sqlite", GOOD, method=14), *good()[2:]]), STORE
    yield "several disks", forged(good(), disk=3), ALL
    yield "an entry on another disk", forged([*good(), Entry("a", b"x", central_disk=2)]), ALL
    yield "a preamble that is counted", forged(good(), prefix=b"#!/bin/sh\n" * 50), ()
    yield "a preamble that is not counted", forged(good(), prefix=b"x" * 100, shift=100, offset=0), ALL
    records = forged([])
    yield "a comment that looks like records", forged(good(), comment=records), ALL
    yield "a comment of another archive", forged(good(), comment=packed({"metadata.json": b"{}"})), ()
    yield "a comment longer than it says", forged(good(), comment=b"x" * 40, length=7), ALL
    yield "a comment full of signatures", forged(good(), comment=b"PK\5\6" * 16_000), ()
    yield "bytes after the directory", forged(good(), between=b"x" * 10), ALL
    inner = whole
    for _ in range(12):
        inner = packed({"inner.zip": inner})
    yield "nested twelve times", inner, ALL
    yield "a bundle in a zip", packed({"a/inner.zip": whole}, zipfile.ZIP_STORED), ()
    yield "a packed bomb of a bundle", forged([bomb(1 << 30, "inner.zip")]), ALL
    yield "a bomb: 1 GiB of zeros as a store", forged([*good()[:1], bomb(1 << 30), *good()[2:]]), STORE
    yield "a bomb of metadata", forged([bomb(1 << 30, "metadata.json"), *good()[1:]]), ALL
    yield "a bomb that says less", forged(
        [*good()[:1], Entry("stores/ledger.sqlite", raw=bomb(256 << 20).raw, size=4096), *good()[2:]]), STORE
    large = [Entry(f"a{index}", raw=b"\3\0", size=3 << 30, crc=0) for index in range(8)]
    yield "24 GiB by its sizes", forged([*good(), *large]), ("extract", "verify")


def many(count):
    """An archive of empty entries."""
    head = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0x800, 0, 0, 0x5A21, 0, 0, 0, 8, 0)
    names = [b"%08x" % index for index in range(count)]
    content = b"".join(head + name for name in names)
    directory = b"".join(
        struct.pack(
            "<IHHHHHHIIIHHHHHII", 0x02014B50, 0x0314, 20, 0x800, 0, 0, 0x5A21, 0, 0, 0, 8, 0, 0, 0, 0, 0, index * 38)
        + name for index, name in enumerate(names))
    place = len(content) + len(directory)
    return (
        content + directory
        + struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, len(directory), len(content))
        + struct.pack("<IIQI", 0x07064B50, 0, place, 1)
        + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0))


def descriptions():
    """Cases of metadata: a name, bytes, and True if every command must fail."""
    text = json.dumps(metadata())
    yield "16 MiB of an array", b'{"formatVersion": "1.0", "a": [' + b"0," * (8 << 20) + b"0]}", True
    yield "16 MiB of a string", b'{"formatVersion": "1.0", "a": "' + b"x" * (16 << 20) + b'"}', True
    yield "arrays 100,000 deep", b'{"formatVersion": "1.0", "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", True
    yield "objects 100,000 deep", b'{"a":' * 100_000 + b"1" + b"}" * 100_000, True
    yield "open arrays", b"[" * 1_000_000, True
    yield "no UTF-8", b'{"formatVersion": "\xff\xfe"}', True
    yield "half a surrogate", b'{"formatVersion": "\\ud800"}', True
    yield "NUL", b"\0" * 1000, True
    yield "a newer version", text.replace('"1.0"', '"2.0"', 1).encode(), True
    yield "a version beyond numbers", text.replace('"1.0"', "99999999999999999999999", 1).encode(), True
    yield "a number beyond numbers", text.replace('"attempt": 1', '"attempt": 1e400', 1).encode(), True
    yield "a negative size", text.replace('"bytes": {}', '"bytes": {"copy": -1}', 1).encode(), True
    for key in ("test", "outcome", "failures", "stores", "attachments", "environment", "capture", "warnings"):
        for value in (None, 1, "x", [1], {"a": 1}, True, [[]], [None]):
            if not (key == "warnings" and value == "x"):
                yield f"{key}: {value!r}", json.dumps({**metadata(), key: value}).encode(), True
    big = (1 << 63) - 1
    yield "the largest numbers", json.dumps(metadata(
        described(
            bytes={"original": (1 << 64) - 1, "wal": (1 << 64) - 1, "copy": (1 << 64) - 1}, pageSize=big,
            pageCount=big, freePageCount=big, userVersion=-big - 1, applicationID=-big - 1, schemaOmitted=big,
            tables=[{"name": f"t{index}", "rows": big, "exact": True} for index in range(5)],
            history={"entry": "history/ledger.wal-history", "transactions": big, "bytes": (1 << 64) - 1},
            statements={"entry": "statements/ledger.jsonl", "count": big}),
        attachments=[{"name": "a", "bytes": (1 << 64) - 1}] * 3,
        capture={"at": "x", "duration": 1e308, "limitsHit": []})).encode(), False
    yield "the least numbers", json.dumps(metadata(
        described(
            pageSize=-big - 1, pageCount=-big - 1, tables=[{"name": "t", "rows": -big - 1, "exact": False}],
            history={"entry": "history/ledger.wal-history", "transactions": -big - 1, "bytes": 0}),
        capture={"at": "", "duration": -1e308, "limitsHit": []})).encode(), False
    yield "two stores of one name", json.dumps(metadata(described(), described())).encode(), True
    yield "too many stores", json.dumps(metadata(*(
        {"name": str(i), "storage": "file", "capture": CAPTURE, "bytes": {}} for i in range(50_000)))).encode(), True
    yield "hundreds of stores of one entry", json.dumps(metadata(*(
        described(str(i), committedEntry="stores/ledger.committed.sqlite") for i in range(200)))).encode(), None
    yield "escapes everywhere", json.dumps(metadata(
        described("a\x1b[31m\u202e\n", originalPath="/\x1b]0;x\x07", schema=[
            {"type": "table", "name": "\x1b[2J", "table": "t", "sql": "CREATE\x1b[2J\r\nx"}]),
        warnings=["\x1b[31m\r\n::error::x"], failures=[
            {"message": "\x1b[2J\n*/ } fatalError() /*\r\u2028import X", "file": "\x1b[31m\nx", "line": -5,
             "kind": "assertion", "at": "\x1b[31m"}],
        test={"framework": "XCTest", "suite": "a\n\x1b[31m*/", "name": "b\"\n\\(exit(1))", "attempt": -1})
        ).encode(), False
    yield "entries that lead elsewhere", json.dumps(metadata(
        described(entry="../../../etc/passwd", committedEntry="/etc/passwd", transactionOpen=True))).encode(), None


def texts():
    """Cases of texts that take long, or that end the quotes around them: a name, and changes to the metadata."""
    def message(text):
        return {"failures": [{**metadata()["failures"][0], "message": text}]}

    def compared(left, right):
        return message(f'XCTAssertEqual failed: ("{left}") is not equal to ("{right}")')

    yield "flags", message("\U0001F1E6\U0001F1E7" * 100_000)
    yield "flags that are compared", compared("\U0001F1E6" * 99_999, "\U0001F1E6" * 100_000)
    yield "marks", message("a" + "\u0301" * 500_000)
    yield "joined people", message("\U0001F468\u200d" * 100_000)
    yield "conjuncts", message("\u0915" + "\u094d\u0915" * 200_000)
    yield "line ends", message("\r\n" * 300_000)
    yield "backticks", message("`" * 300_000)
    yield "values with quotes", compared('"a", ' * 50_000, '"b", ' * 50_000)
    yield "brackets", compared("[" * 100_000, "[" * 99_999)
    yield "optionals", compared("Optional(" * 50_000, "nil")
    yield "digits", message("9" * 500_000 + " is not equal to " + "8" * 500_000)
    test = metadata()["test"]
    yield "long names", {"test": {**test, "suite": "\u0915\u093e" * 100_000, "name": "\u0905\u0902" * 100_000}}
    yield "names of marks", {"test": {**test, "suite": "a" + "\u0301" * 100_000, "name": "`\u0301'\u0301\"\u0301"}}
    store = described()
    yield "1,000 snapshots", {"snapshots": [
        {"label": f"l{n}", "at": "2026-11-21T07:08:09.120Z", "stores": [store]} for n in range(1000)]}
    yield "20,000 attachments", {"attachments": [
        {"name": f"a{n}\x1b]0;x\x07", "bytes": 1} for n in range(20_000)]}
    yield "addresses of scripts", {"environment": {**ENVIRONMENT, "ci": {"service": "GitHub Actions", "variables": {
        "GITHUB_SERVER_URL": "javascript:alert(1)//", "GITHUB_REPOSITORY": "a/b", "GITHUB_SHA": "0" * 40,
        "GITHUB_RUN_ID": "1'); alert(1)"}}}}


def fake_schema(*statements):
    """A store whose schema has statements that SQLite itself would refuse."""
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "a.sqlite"
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.executescript(BEFORE + "; PRAGMA writable_schema = on")
            for kind, title, root, sql in statements:
                db.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", (kind, title, title, root, sql))
            db.commit()
        return path.read_bytes()


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"


def stores(evil):
    """Cases of stores: a name, bytes, and a statement for `query` that involves the schema.

    `evil` is the path of a file that the store's code would create if it ran.
    """
    write = f"writefile('{evil}', 'x')"
    load = "load_extension('/nowhere/evil.so')"
    for title, sql in [("write a file", write), ("load an extension", load), ("edit", f"edit('x', '/usr/bin/touch {evil} #')")]:
        yield f"a view to {title}", database(
            BEFORE, f"CREATE VIEW v AS SELECT {sql} FROM account"), "SELECT * FROM v"
        yield f"a trigger to {title}", database(
            BEFORE, f"CREATE TRIGGER t AFTER UPDATE ON account BEGIN SELECT {sql}; END",
            f"CREATE TRIGGER u AFTER DELETE ON account BEGIN SELECT {sql}; END"), "SELECT * FROM account"
    yield "a view that replaces a table", fake_schema(
        ("view", "t", 0, f"CREATE VIEW t AS SELECT {write} AS a")), "SELECT * FROM t"
    yield "a generated column to load an extension", fake_schema(
        ("table", "g", 2, f"CREATE TABLE g(a, b AS ({load}))")), "SELECT * FROM g"
    yield "a DEFAULT to load an extension", fake_schema(
        ("table", "g", 2, f"CREATE TABLE g(a, b DEFAULT ({load}))")), "SELECT * FROM g"
    yield "a CHECK of an unknown function", fake_schema(
        ("table", "g", 2, "CREATE TABLE g(a CHECK (evil(a)))")), "SELECT * FROM g"
    yield "virtual tables of unknown modules", fake_schema(
        ("table", "f", 0, f"CREATE VIRTUAL TABLE f USING csv(filename='/etc/passwd')"),
        ("table", "z", 0, "CREATE VIRTUAL TABLE z USING zipfile('/etc/x.zip')"),
        ("table", "e", 0, "CREATE VIRTUAL TABLE e USING evil(x)")), "SELECT * FROM f"
    yield "virtual tables of known modules, without their shadows", fake_schema(
        ("table", "f", 0, "CREATE VIRTUAL TABLE f USING fts5(x)"),
        ("table", "r", 0, "CREATE VIRTUAL TABLE r USING rtree(id, a, b)"),
        ("table", "s", 0, "CREATE VIRTUAL TABLE s USING fts4(x)"),
        ("table", "d", 0, "CREATE VIRTUAL TABLE d USING dbstat(main)"),
        ("table", "k", 0, "CREATE VIRTUAL TABLE k USING fts3(tokenize=simple x'00')")), "SELECT * FROM f"
    yield "shadow tables that lie", database(
        "CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES ('one two three');"
        "UPDATE f_data SET block = zeroblob(500); CREATE VIRTUAL TABLE r USING rtree(id, a, b);"
        "INSERT INTO r VALUES (1, 2, 3); UPDATE r_node SET data = x'00ff00ff00ff'"), "SELECT * FROM f WHERE f MATCH 'one'"
    yield "a view without end", database(BEFORE, f"CREATE VIEW v AS {ENDLESS} SELECT x FROM c"), "SELECT max(x) FROM v"
    yield "a view that fills the memory", database(
        BEFORE, "CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT zeroblob(1000000) UNION ALL SELECT randomblob(1000000) FROM c) "
        "SELECT x FROM c ORDER BY x"), "SELECT count(*) FROM v"
    yield "views of views", database(
        BEFORE, "CREATE VIEW v0 AS SELECT 1 AS x UNION ALL SELECT 2", *(
            f"CREATE VIEW v{n} AS SELECT a.x FROM v{n - 1} a, v{n - 1} b" for n in range(1, 7))), "SELECT count(*) FROM v6"
    yield "a view of itself", fake_schema(("view", "v", 0, "CREATE VIEW v AS SELECT * FROM v")), "SELECT * FROM v"
    large = "hex(zeroblob(60000000))"
    # These are computed when they are read.
    yield "generated columns that are large", disguised(
        "CREATE TABLE g(a); INSERT INTO g(a) VALUES (1), (2), (3), (4), (5), (6), (7), (8)", "g",
        "CREATE TABLE g(a, " + ", ".join(f"c{n} AS (length(replace({large}, '0', '{n}')))" for n in range(40)) + ")"), "SELECT * FROM g"
    slow = "length(replace(printf('%.*c', a, 'x'), 'x', 'yy'))"
    yield "expression indexes that take long", database(
        "CREATE TABLE g(a)", f"CREATE INDEX i ON g({', '.join([slow] * 30)})",
        "INSERT INTO g VALUES (1)"), "SELECT * FROM g"
    yield "an index that takes for ever", slow_index(), "SELECT count(*) FROM g"
    yield "a value of a billion bytes", database(
        BEFORE, "CREATE VIEW v AS SELECT zeroblob(900000000) AS x"), "SELECT length(x || 'x') FROM v"
    yield "a text full of wildcards", disguised(
        "CREATE TABLE g(a); INSERT INTO g(a) VALUES (1)", "g",
        "CREATE TABLE g(a, b AS (printf('%.*c', 100000, 'a') LIKE replace(hex(zeroblob(20000)), '0', '%a')))"
    ), "SELECT * FROM g"
    yield "names that mean harm", database(
        'CREATE TABLE "a""; DROP TABLE x; --"("b""\x1b[31m", "c\n.shell touch ' + evil + '"); '
        'INSERT INTO "a""; DROP TABLE x; --" VALUES (1, 2)'), "SELECT * FROM sqlite_master"
    yield "SQL that is two statements", fake_schema(
        ("view", "v", 0, f"CREATE VIEW v AS SELECT 1; ATTACH '{evil}' AS e"),
        ("view", "w", 0, f"CREATE VIEW w AS SELECT 1\n.shell touch {evil}\n")), "SELECT * FROM v"
    yield "2,000 columns", database(
        "CREATE TABLE g(" + ", ".join(f"c{n}" for n in range(2000)) + "); INSERT INTO g(c1) VALUES (1)"), "SELECT * FROM g"
    yield "1,000 tables", database("BEGIN; " + "; ".join(f"CREATE TABLE t{n}(a)" for n in range(1000)) + "; COMMIT"), "SELECT 1"
    yield from broken_pages()


def slow_index():
    """An index on an expression. Checking the index computes it again for each row, which takes hours."""
    return disguised(
        "CREATE TABLE g(a); INSERT INTO g WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 3000)"
        " SELECT x FROM c; CREATE INDEX i ON g(length(a))", "i",
        "CREATE INDEX i ON g(length(replace(hex(zeroblob(50000000)), '00', a)))")


def disguised(script, name, definition):
    """A store whose schema has another definition of a table or index than the one that created it."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "a.sqlite"
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.executescript(script + "; PRAGMA writable_schema = on")
            db.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (definition, name))
            db.commit()
        return path.read_bytes()


def broken_pages():
    base = bytearray(database(
        BEFORE, "WITH RECURSIVE c(x) AS (SELECT 2 UNION ALL SELECT x + 1 FROM c LIMIT 2000) "
        "INSERT INTO account SELECT x, 'name', zeroblob(40) FROM c; CREATE INDEX i ON account(name)"))
    root = 2 * 4096 - 4096
    for title, place, value in [
        ("a page size of 3", 16, b"\0\3"), ("a page size of 65,536", 16, b"\0\1"), ("all space reserved", 20, b"\xff"),
        ("a size beyond the file", 28, b"\x7f\xff\xff\xff"), ("a freelist beyond the file", 32, b"\x7f\xff\xff\xff"),
        ("a freelist of page 1", 32, b"\0\0\0\1\0\0\0\5"), ("an unknown encoding", 56, b"\0\0\0\7"),
        ("WAL mode", 18, b"\2\2"), ("a newer format", 18, b"\7\7"), ("an auto-vacuum root", 52, b"\0\0\0\2"),
        ("a tree that is its own child", root + 8, struct.pack(">I", 2)), ("a page of no kind", root, b"\x99"),
        ("cells beyond the page", root + 3, b"\xff\xff"), ("a schema of noise", 108, b"\xa5" * 300),
    ]:
        damaged = bytearray(base)
        damaged[place:place + len(value)] = value
        yield title, bytes(damaged), "SELECT sum(id) FROM account"
    yield "half of a store", bytes(base[:len(base) // 2 + 100]), "SELECT sum(id) FROM account"
    yield "noise", os.urandom(8192), "SELECT 1"
    yield "a header alone", bytes(base[:100]), "SELECT 1"
    yield "nothing", b"", "SELECT 1"


def histories():
    """Cases of histories: a name, bytes, and True if `history` must fail."""
    page = images(CHANGED)
    count = len(CHANGED) // 4096
    yield "a size of 16 TiB for a state before", history([(0xFFFFFFFF, page), (count, page)]), True
    yield "a size of 256 TiB", history([(0xFFFFFFFF, [(1, b"x" * 65536)])], initial=[], page=65536), True
    yield "a first state of 16 TiB", history([(count, page)], size=0xFFFFFFFF), True
    yield "a first state without pages", history([(count, page)], size=0, initial=[]), None
    yield "page 0", history([(count, [(0, page[0][1])])]), True
    yield "the last page there can be", history([(count, [*page, (0xFFFFFFFF, page[0][1])])]), None
    yield "a page twice", history([(count, page + page)]), True
    yield "counts beyond the file", history([(count, page)], changed=1 << 61), True
    yield "counts that overflow", history([(count, page)], first=(1 << 64) - 1, changed=(1 << 64) - 1), True
    yield "too many transactions", history([(count, page)], transactions=0xFFFFFFFF), True
    yield "no transactions", history([], initial=[]), True
    yield "a page size of 7", history([(count, page)], page=4096).replace(struct.pack("<I", 4096), struct.pack("<I", 7), 1), True
    yield "a newer version", history([(count, page)], version=2), True
    yield "cut short", GOOD_HISTORY[:-1], True
    yield "one byte more", GOOD_HISTORY + b"x", True
    yield "a header alone", GOOD_HISTORY[:64], True
    yield "of another store", history([(count + 5, page)]), True
    yield "noise in its pages", history([(count, [(n, os.urandom(4096)) for n, _ in page])]), None
    yield "a first state of noise", history([(count, page)], initial=[(n, os.urandom(4096)) for n, _ in page]), True
    yield "3,000 transactions", history([(count, [page[0]])] * 3000), None
    yield "nothing", b"", True


def logs():
    """Cases of statement logs: a name, and bytes."""
    line = json.loads(STATEMENT)
    yield "noise", os.urandom(1000)
    yield "endless line", b'{"sql": "' + b"x" * (8 << 20)
    yield "deep", b"[" * 500_000
    yield "largest numbers", json.dumps({
        **line, "order": (1 << 64) - 1, "connection": (1 << 64) - 1, "changes": (1 << 63) - 1, "duration": 1e308,
        "fullScanSteps": (1 << 63) - 1, "sorts": (1 << 63) - 1, "autoIndexes": (1 << 63) - 1, "pages": (1 << 63) - 1,
        "source": {"file": "a.swift", "function": "f()", "line": (1 << 63) - 1},
        "error": {"code": -(1 << 31), "message": "\x1b[31m"}}).encode() + b"\n"
    yield "smallest numbers", json.dumps({
        **line, "changes": -(1 << 63), "duration": -1e308, "fullScanSteps": -(1 << 63), "sorts": -(1 << 63),
        "autoIndexes": -(1 << 63), "pages": -(1 << 63), "source": {"file": "", "line": -(1 << 63)},
        "stack": [(1 << 64) - 1] * 1000, "at": "9999-12-31T99:99:99.999999999Z"}).encode() + b"\n"
    yield "places outside the package", b"".join(
        json.dumps({**line, "order": n, "source": {"file": file, "function": file, "line": 1}}).encode() + b"\n"
        for n, file in enumerate((
            "/etc/passwd", "../../../../etc/passwd", "a/../../b.swift", "//evil.example/a.swift", "javascript:alert(1)",
            "file:///etc/passwd", "\x1b]8;;https://evil.example\x07\u202e\u2066\x9b31m\0\n.swift", "x" * 1_000_000, "/" * 100_000)))
    yield "large plans", b"".join(
        json.dumps({**line, "order": n, "queryPlan": plan}).encode() + b"\n" for n, plan in enumerate((
            [], [""], ["\x1b[31m\u202e\x9b\0\n</pre><script>alert(1)</script>"] * 30, ["SCAN a"] * 100_000, [" " * 1_000_000])))
    yield "50,000 statements", b"".join(
        json.dumps({**line, "order": n, "connection": n % 999, "sql": ("BEGIN", "INSERT INTO account VALUES (1)", "COMMIT")[n % 3]}
                   ).encode() + b"\n" for n in range(50_000))
    yield "a statement of a megabyte of parentheses", json.dumps({**line, "sql": "UPDATE " + "(" * 1_000_000}).encode() + b"\n"
    yield "a statement of open comments", json.dumps({**line, "sql": "/*" * 500_000}).encode() + b"\n"
    frames = [{"file": "a.swift", "line": n} for n in range(20_000)]
    yield "10 statements of 20,000 callers", b"".join(
        json.dumps({**line, "order": n, "source": frames[n], "callers": frames}).encode() + b"\n" for n in range(10))

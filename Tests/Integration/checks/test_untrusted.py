"""Every reading command on malicious bundles gives an error or a correct result, and has no other effect."""

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import harness
import untrusted

MEBIBYTE = 1 << 20
MEMORY = 1152 * MEBIBYTE  # The maximum resident size: SQLite's GiB, and the tool.
SECONDS = 100  # Of processor time, for one command.
BRIEF = ("--time-limit", "1")
STATUSES = {0, 1, 64, 65, 66, 74}
# A line feed is allowed, and so is a carriage return in CSV.
CONTROL = re.compile(rb"[\0-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Outcome:
    def __init__(self, status, output, errors, peak, seconds):
        self.status, self.output, self.errors, self.peak, self.seconds = status, output, errors, peak, seconds


def start(arguments, environment, directory):
    """Runs the tool under limits, and waits for it."""

    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        # Address space is cheap, and the threads' stacks take much of it.
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        begin = time.monotonic()
        process = subprocess.Popen(
            [str(harness.TOOL), *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
            cwd=directory, env=environment, preexec_fn=limit)
        # The limits of the tool are in processor time, which comes slowly on a busy machine.
        killer = threading.Timer(10 * SECONDS, process.kill)
        killer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        for file in (output, errors):
            file.seek(0)
        return Outcome(
            process.returncode, output.read(), errors.read(), usage.ru_maxrss * 1024, time.monotonic() - begin)


class UntrustedBundles(unittest.TestCase):
    """`open` runs a stand-in for `sqlite3` that records its arguments. No other program can be started."""

    def setUp(self):
        self.place = harness.fresh_directory(self)
        for name in ("bin", "tmp", "here"):
            (self.place / name).mkdir()
        self.evil = self.place / "evil"
        (self.place / "bin" / "sqlite3").symlink_to(shutil.which("sqlite3"))
        self.environment = {
            "PATH": str(self.place / "bin"), "TMPDIR": str(self.place / "tmp"), "LANG": "C.UTF-8",
            "HOME": str(self.place / "home"), "SWIFT_BACKTRACE": "enable=no"}
        self.peak = (0, "")
        self.slowest = (0, "")

    def tearDown(self):
        if os.environ.get("UNTRUSTED_FIGURES"):
            print(f"\n{self.id()}: {self.peak[0] >> 20} MiB in {self.peak[1]}; "
                  f"{self.slowest[0]:.1f} s in {self.slowest[1]}")

    def run_tool(self, title, *arguments, statuses=STATUSES):
        """Runs a command, and checks the properties that are independent of the bundle."""
        place, here = self.place, self.place / "here"
        before = {path: path.read_bytes() for path in place.glob("*.zip")}
        found = start(arguments, self.environment, here)
        said = f"{title}: {arguments[0]}: status {found.status}, {found.seconds:.1f} s, " \
               f"{found.peak >> 20} MiB, {found.errors[-500:]!r}"
        self.assertIn(found.status, statuses, said)
        self.assertLess(found.peak, MEMORY, said)
        self.assertFalse(self.evil.exists(), said)
        self.assertEqual(list((place / "tmp").iterdir()), [], said)
        self.assertFalse((place / "home").exists(), said)
        self.assertEqual({path.name for path in here.iterdir()} - {"out", "page.html"}, set(), said)
        self.assertEqual({path: path.read_bytes() for path in place.glob("*.zip")}, before, said)
        for path in here.rglob("*"):
            self.assertFalse(path.is_symlink(), said)
            self.assertTrue(path.is_file() or path.is_dir(), said)
        if arguments[0] not in ("open", "query"):  # These print values unchanged if the output is not a terminal.
            self.assertNotRegex(found.output, CONTROL, said)
        # With --fixture, standard error has the next steps.
        if arguments[0] != "open" and not ("--fixture" in arguments and found.status == 0):
            if found.status not in (0, 1):
                self.assertRegex(found.errors, rb"(?m)^error: .+\.$", said)
            for line in found.errors.splitlines():
                self.assertRegex(line, rb"^(error|warning): ", said)
        self.assertNotRegex(found.errors, CONTROL, said)
        if arguments[0] == "list" and "--json" not in arguments:
            self.assertLess(max(map(len, found.output.splitlines()), default=0), 8 << 10, said)
        self.peak = max(self.peak, (found.peak, f"{title}: {arguments[0]}"))
        self.slowest = max(self.slowest, (found.seconds, f"{title}: {arguments[0]}"))
        for path in here.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return found

    def run_all(self, title, content, failing=(), sql="SELECT * FROM sqlite_master", sound=(),
                only=untrusted.ALL):
        """Runs every command. Those in `failing` must fail, and those in `sound` must not."""
        path = self.place / "LedgerTests.testTransfer-1a2b3c4d.zip"
        path.write_bytes(content)
        commands = [
            ("list", path), ("show", path, "--json"), ("show", path), ("explain", path, "--all", *BRIEF),
            ("explain", path, "--json", *BRIEF), ("open", path, "--", ".schema"),
            ("query", path, sql, *BRIEF), ("query", path, "SELECT count(*) FROM sqlite_master"),
            ("history", path, *BRIEF), ("diff", path, *BRIEF), ("diff", path, "--at", "0", *BRIEF),
            ("extract", path, "-o", "out"), ("extract", path, "--at", "0", "-o", "out"),
            ("extract", path, "--fixture", "-o", "out", *BRIEF),
            ("reduce", path, "--check", "SELECT 1 FROM sqlite_master", "-o", "out/reduced.sqlite", *BRIEF),
            ("verify", path, *BRIEF),
            ("report", path, "-o", "page.html", *BRIEF)]
        if failing is untrusted.ALL:
            # If a bundle can't be opened, one form of each command is enough.
            commands = list({command[0]: command for command in reversed(commands)}.values())
        for command in (command for command in commands if command[0] in only):
            with self.subTest(title, command=command[0]):
                found = self.run_tool(title, *command)
                # With these options, the commands read only a part of the bundle.
                is_part = "--at" in command or "--fixture" in command
                if command[0] in failing and (failing is untrusted.ALL or not is_part):
                    self.assertNotEqual(found.status, 0, f"{title}: {command[0]}")
                if command[0] in sound and not is_part:
                    self.assertEqual(found.status, 0, f"{title}: {command[0]}: {found.errors[-500:]!r}")
        path.unlink()

    def test_good(self):
        """Each command works on a valid bundle, so the other tests are meaningful."""
        path = self.place / "good.zip"
        for content in (untrusted.packed(untrusted.entries()), untrusted.forged(untrusted.good())):
            path.write_bytes(content)
            for command in untrusted.ALL:
                more = {"query": ["SELECT 1"], "open": ["--", "SELECT 1"], "extract": ["-o", "out"]}
                found = self.run_tool("good", command, path, *more.get(command, []))
                self.assertEqual(found.status, 1 if command == "diff" else 0, (command, found.errors))

    def test_archives(self):
        for title, content, failing in untrusted.archives():
            self.run_all(title, content, failing)

    def test_a_million_entries(self):
        path = self.place / "many.zip"
        path.write_bytes(untrusted.many(1_000_000))
        for command in ("list", "verify", "extract"):
            found = self.run_tool("a million entries", command, path)
            self.assertNotEqual(found.status, 0)

    def test_no_limits(self):
        """Content beyond a limit is read with the option that lifts it."""
        path = self.place / "zeros.zip"
        path.write_bytes(untrusted.forged([*untrusted.good(), untrusted.bomb(320 << 20, "attachments/zeros")]))
        found = self.run_tool("zeros", "extract", path, "-o", "out")
        self.assertEqual(found.status, 65)
        self.assertIn(b"--no-limits", found.errors)
        for command in (("extract", path, "-o", "out"), ("verify", path)):
            self.assertEqual(self.run_tool("zeros", *command, "--no-limits").status, 0)

    def test_metadata(self):
        for title, content, fails in untrusted.descriptions():
            with self.subTest(title):
                bundle = untrusted.packed(untrusted.entries(metadata=content))
                if title[0].islower() and ": " in title:
                    # Merge several similar bundles.
                    path = self.place / "a.zip"
                    path.write_bytes(bundle)
                    self.assertNotEqual(self.run_tool(title, "list", path).status, 0)
                    self.assertNotEqual(self.run_tool(title, "verify", path).status, 0)
                    path.unlink()
                else:
                    self.run_all(
                        title, bundle, untrusted.ALL if fails else (), sound=("list",) if fails is False else (),
                        only=("list", "verify", "report") if fails else untrusted.ALL)

    def test_texts(self):
        for title, more in untrusted.texts():
            self.run_all(
                title, untrusted.packed(untrusted.entries(metadata=untrusted.metadata(**more))),
                sound=("list", "show", "report"), only=("list", "show", "explain", "report"))

    def test_names_of_bundles(self):
        """By default, output is in the working directory; only a page is beside its bundle."""
        here, bundles = self.place / "here", self.place / "bundles"
        for name in ("...zip", "..zip", ".zip", "....zip", "\u0301x.zip", "-o.zip"):
            for command in (("extract",), ("extract", "--fixture"), ("report",)):
                bundles.mkdir()
                bundle = bundles / name
                bundle.write_bytes(untrusted.packed(untrusted.entries()))
                before = set(self.place.rglob("*"))
                found = start((command[0], bundle, *command[1:], *(BRIEF if len(command) > 1 else ())), self.environment, here)
                self.assertEqual(found.status, 0, (name, command, found.errors))
                new = set(self.place.rglob("*")) - before
                self.assertGreater(len(new), 0, (name, command))
                for path in new:
                    self.assertIn(bundles if command[0] == "report" else here, path.parents, (name, command))
                    self.assertTrue(command[0] == "report" or path.parent != here or path.is_dir(), path)
                shutil.rmtree(bundles)
                for path in here.iterdir():
                    shutil.rmtree(path)

    def test_stores(self):
        for title, content, sql in untrusted.stores(str(self.evil)):
            self.run_all(title, untrusted.packed(untrusted.entries(store=content)), (), sql, ("list", "extract"),
                         (*untrusted.ALL, "reduce"))

    def test_histories(self):
        for title, content, fails in untrusted.histories():
            bundle = untrusted.packed(untrusted.entries(history=content))
            self.run_all(title, bundle, ("history", "verify") if fails else (), sound=("list", "show", "query"))

    def test_logs(self):
        for title, content in untrusted.logs():
            # The other commands don't read the log.
            self.run_all(
                title, untrusted.packed(untrusted.entries(statements=content)), (), sound=("show",),
                only=("show", "explain", "history", "extract", "verify", "report"))

    def test_open(self):
        """sqlite3 has functions that a store must not call. The user may."""
        path = self.place / "a.zip"
        for title, content, sql in untrusted.stores(str(self.evil)):
            if " to write a file" in title or " to edit" in title or "replaces" in title:
                with self.subTest(title):
                    path.write_bytes(untrusted.packed(untrusted.entries(store=content)))
                    # A trigger needs a statement that fires it.
                    more = ("UPDATE account SET balance = 1; DELETE FROM account",) if "trigger" in title else ()
                    found = self.run_tool(title, "open", path, "--", sql, *more, statuses={1})
                    self.assertIn(b"unsafe use of", found.errors)
        own = self.place / "here" / "out"
        path.write_bytes(untrusted.packed(untrusted.entries()))
        found = start(["open", path, "--", f"SELECT writefile('{own}', 'x')"], self.environment, self.place)
        self.assertEqual((found.status, found.output, own.read_text()), (0, b"1\n", "x"), found.errors)

    def test_query(self):
        """A view that calls a forbidden function is refused, and the message says what to do if the store is trusted."""
        path = self.place / "a.zip"
        store = untrusted.database(untrusted.BEFORE, "CREATE VIEW v AS SELECT load_extension('/nowhere/evil.so')")
        path.write_bytes(untrusted.packed(untrusted.entries(store=store)))
        found = self.run_tool("a view", "query", path, "SELECT * FROM v", statuses={64})
        self.assertIn(b"unsafe use of load_extension(). A view of the store must not call it", found.errors)
        self.assertIn(b"'failure-artifacts extract'", found.errors)

    def test_scripts(self):
        """The script of a regression test only creates the store."""
        path, ground, here = self.place / "a.zip", self.place / "ground.sqlite", self.place / "here"
        count = 0
        for title, content, _ in untrusted.stores(str(self.evil)):
            with self.subTest(title):
                path.write_bytes(untrusted.packed(untrusted.entries(store=content)))
                start(("extract", path, "--fixture", "--whole", "-o", "out", *BRIEF), self.environment, here)
                for script in list(here.rglob("*.sql")):
                    count += 1
                    text = script.read_bytes()
                    shutil.rmtree(here / "out")
                    # It may create an index that takes forever.
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        subprocess.run(
                            ["sqlite3", "-bail", str(ground)], input=text, capture_output=True, timeout=5, cwd=here)
                    for suffix in ("", "-journal"):
                        ground.with_name(ground.name + suffix).unlink(missing_ok=True)
                    self.assertFalse(self.evil.exists(), text[:500])
                    self.assertEqual(list(here.iterdir()), [], text[:500])
                shutil.rmtree(here / "out", ignore_errors=True)
        self.assertGreater(count, 0)

    def test_a_step_without_an_end(self):
        """One row, whose computation SQLite does not interrupt."""
        columns = ", ".join(f"length(hex(randomblob(15000000))) AS c{n}" for n in range(900))
        store = untrusted.database(untrusted.BEFORE, f"CREATE VIEW v AS SELECT {columns}")
        path = self.place / "a.zip"
        path.write_bytes(untrusted.packed(untrusted.entries(store=store)))
        found = self.run_tool("a long step", "query", path, "SELECT * FROM v", "--time-limit", "1", statuses={74})
        self.assertIn(b"took too long", found.errors)

    def test_a_history_without_a_committed_copy(self):
        description = untrusted.metadata(untrusted.described(
            transactionOpen=True, capture={**untrusted.CAPTURE, "method": "serialize"},
            history={"entry": "history/ledger.wal-history", "transactions": 1, "bytes": 1}))
        self.run_all(
            "only an uncommitted copy", untrusted.packed(untrusted.entries(metadata=description)), ("history", "verify"),
            sound=("list", "show", "query"))

    def test_a_named_pipe(self):
        os.mkfifo(self.place / "pipe.zip")
        self.assertNotEqual(start(["list", self.place / "pipe.zip"], self.environment, self.place).status, 0)
        self.assertNotEqual(start(["list", self.place], self.environment, self.place).status, 0)

    def test_a_directory_of_journals(self):
        """The files that `sweep` finds are untrusted too."""
        for title, content in [
            ("noise", os.urandom(500)), ("nothing", b""), ("huge", b"T\t1\t" * 500_000),
            ("numbers", f"P\ta\tb\tc\td\t1\nT\t1\t{(1 << 63) - 1}\t{(1 << 31) - 1}\tXCTest\tA\tb\t1\nS\t1\t/etc/passwd\n".encode()),
        ]:
            artifacts = self.place / "artifacts"
            (artifacts / ".in-flight").mkdir(parents=True)
            for name in ("recorder-99999999-1", "recorder-99999999-1.taken-99999998-1", "x"):
                (artifacts / ".in-flight" / name).write_bytes(content)
            self.run_tool(title, "sweep", artifacts)
            shutil.rmtree(artifacts)

"""The terminal: eighty columns, and installing the tool."""

import contextlib
import os
import pathlib
import pty
import re
import shutil
import subprocess
import tempfile
import unicodedata
import unittest

from harness import ROOT, fresh_directory
from test_fleet import TOOL
from test_report import bundle, described, metadata, store

LONG = "testThatTheVeryLongNameOfThisTestDoesNotBreakTheTableOfTheListInATerminal"
WIDE = "test_CoreData内の果物を更新できる_長い名前のテスト"

def columns(text):
    """The width of a text on a terminal, in columns."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def tool(*arguments, **options):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, **options)


class AtATerminal(unittest.TestCase):
    """The display on eighty columns."""

    def setUp(self):
        self.directory = fresh_directory(self)

    def see(self, *arguments, width=80, **variables):
        """The lines on a terminal without colors, standard output and error together."""
        import fcntl
        import struct
        import termios

        controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        process = subprocess.Popen(
            [TOOL, *map(str, arguments)], stdin=terminal, stdout=terminal, stderr=terminal,
            env={**os.environ, "TERM": "xterm", **variables})
        os.close(terminal)
        shown = b""
        with contextlib.suppress(OSError):  # Linux reports no end of file here.
            while part := os.read(controller, 65536):
                shown += part
        os.close(controller)
        self.status = process.wait()
        text = re.sub(r"\x1b\[[0-9;]*[mK]", "", shown.decode())
        return text.replace("\r\n", "\n").split("\n")

    def make(self):
        tests = [("LedgerTests", "testMarch"), ("CheckoutFlowTests", LONG), ("ItemTests", WIDE)]
        for number, (suite, name) in enumerate(tests):
            tables = [{"name": f"{table}{'長' * 30}", "rows": 7**table, "exact": True} for table in range(3)]
            bundle(
                self.directory / f"{suite}.{name}-0000000{number}.zip",
                metadata(
                    suite=suite, name=name, message=f'XCTAssertEqual failed: ("{number}") 果物 ' + "word 言葉 " * 40,
                    stores=[described("items", "stores/items.sqlite", tables=tables, history={
                        "transactions": 3, "bytes": 99, "reason": "The WAL was reset while the test ran, and what it had is gone."})],
                    warnings=["This is a warning of many words, so that it has to be broken between them somewhere."]),
                **{"stores/items.sqlite": store(self.directory / f"{number}.sqlite", "CREATE TABLE a (b)")})
        return self.directory

    def test_list(self):
        self.make()
        for width in (80, 100, 140):
            lines = self.see("list", self.directory, width=width)
            self.assertEqual(len(lines), 4)
            for line in lines[:3]:
                self.assertLessEqual(columns(line), width, line)
                self.assertRegex(line, r"0000000\d$")

    def test_show(self):
        self.make()
        for number in range(3):
            lines = self.see("show", f"{self.directory}/0000000{number}")
            # Titles and paths keep their length, so that they can be copied. Other text is wrapped between
            # words.
            for line in lines[2:]:
                if "0000000" not in line:
                    self.assertLessEqual(columns(line), 80, line)
            self.assertTrue(any(line.endswith(" 49 rows") for line in lines))
            ends = {columns(line) for line in lines if re.search(r"\d rows?$", line) and "長" in line}
            self.assertEqual(len(ends - {min(ends)}), 1, lines)

    def test_errors_are_broken_between_words(self):
        lines = self.see("show", "/nowhere/at/all")
        self.assertEqual(self.status, 66)
        self.assertGreater(len(lines), 2)
        self.assertLessEqual(max(map(columns, lines)), 80)
        self.assertEqual(
            " ".join(lines).split(),
            tool("show", "/nowhere/at/all").stderr.split())


class Installation(unittest.TestCase):
    FILES = ["bin/failure-artifacts"]

    def install(self, *arguments, cwd=None, **variables):
        return subprocess.run(
            [ROOT / "Scripts/install", *map(str, arguments)], cwd=cwd, capture_output=True, text=True,
            env={**os.environ, "TOOL": str(TOOL), **variables})

    def files(self, place):
        return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())

    def test_one_command_puts_all_in_place(self):
        with tempfile.TemporaryDirectory(prefix="prefix with spaces ") as name:
            place = pathlib.Path(name) / "usr"
            for _ in range(2):  # The second one replaces the first.
                found = self.install(place)
                self.assertEqual(found.returncode, 0, found.stderr)
                self.assertEqual(found.stdout.splitlines(), [str(place / file) for file in self.FILES])
                self.assertIn(f"PATH has no {place}/bin", found.stderr)
                self.assertEqual(self.files(place), self.FILES)
            self.assertEqual((place / self.FILES[0]).stat().st_mode & 0o777, 0o755)
            version = subprocess.run([place / self.FILES[0], "--version"], capture_output=True, text=True, check=True)
            self.assertEqual(version.stdout, tool("--version").stdout)
            self.assertEqual(self.install("--uninstall", place).returncode, 0)
            self.assertEqual(self.files(place), [])

    def test_the_tool_is_built_where_none_is_given(self):
        with tempfile.TemporaryDirectory(prefix="build ") as name:
            place = pathlib.Path(name)
            (place / "built").mkdir()
            shutil.copy(TOOL, place / "built")
            # The stand-in records its arguments. For the last option, it prints the product's directory.
            (place / "swift").write_text(
                f"#!/bin/sh\nprintf '%s\\n' \"$*\" >>'{place}/words'\n"
                f"case $* in *--show-bin-path) echo '{place}/built' ;; esac\n")
            (place / "swift").chmod(0o755)
            # Without a prefix, the files go to a directory that the user can write to.
            found = self.install(TOOL="", DESTDIR=str(place / "package"), HOME="/home/nobody",
                                 PATH=f"{place}:{os.environ['PATH']}")
            self.assertEqual(found.returncode, 0, found.stderr)
            prefix = "usr/local" if os.access("/usr/local/bin", os.W_OK) else "home/nobody/.local"
            self.assertEqual(self.files(place / "package" / prefix), self.FILES)
            build, asked = (place / "words").read_text().splitlines()
            self.assertEqual(build, f"build --package-path {ROOT} -c release --product failure-artifacts")
            self.assertEqual(asked, f"build --package-path {ROOT} -c release --show-bin-path")

    def test_prefixes(self):
        with tempfile.TemporaryDirectory(prefix="prefix ") as name:
            place = pathlib.Path(name)
            self.assertEqual(self.install("there", cwd=place).returncode, 0)
            self.assertEqual(self.files(place / "there"), self.FILES)
            found = self.install("/usr", DESTDIR=str(place / "package"), PATH=f"/usr/bin:{os.environ['PATH']}")
            self.assertEqual((found.returncode, found.stderr), (0, ""))
            self.assertEqual(self.files(place / "package/usr"), self.FILES)
            for arguments in (["--nope"], ["a", "b"]):
                self.assertEqual(self.install(*arguments, cwd=place).returncode, 1)
            self.assertEqual(sorted(path.name for path in place.iterdir()), ["package", "there"])

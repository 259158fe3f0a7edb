"""The display on a terminal of eighty columns."""

import contextlib
import os
import pty
import re
import subprocess
import unicodedata
import unittest

from harness import fresh_directory
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

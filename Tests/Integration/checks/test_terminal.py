"""The display on a terminal of eighty columns, and the completions that shells offer."""

import contextlib
import os
import pathlib
import pty
import re
import shutil
import subprocess
import threading
import time
import unicodedata
import unittest

from harness import fresh_directory, needs
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


# What is typed after the name of the tool, and the words that are offered.
BUNDLES = ["ShopTests.testA-00000001.zip", "ShopTests.testB-00000002.zip"]
COMPLETIONS = [
    ("exp", ["explain"]), ("--v", ["--version"]), ("explain --ag", ["--against"]), ("no-such-command --a", []),
    ("show S", BUNDLES), ("diff ShopTests.testA-00000001.zip S", BUNDLES), ("merge a.zip b.zip S", BUNDLES),
    ("explain --against S", BUNDLES), ("history --store o", ["orders"]), ("history 00000002 --store ", ["customers"]),
    ("blame ord", ["order lines"]), ("blame 00000001 sta", ["stamp"]), ("blame 00000001 --store customers ci", []),
    ("blame --store customers 00000002 ci", ["city"]), ("blame S", [*BUNDLES, "Shelf"]), ("completions f", ["fish"]),
    # The shell's own paths.
    ("show no", ["note.txt"]), ("report -o tw", ["two words.zip"]), ("run -- swift no", ["note.txt"]),
]


class Completions(unittest.TestCase):
    """The completions that real shells offer."""

    maxDiff = None

    def setUp(self):
        self.directory = fresh_directory(self)
        self.place = self.directory / "place"
        artifacts = self.place / "failure-artifacts"
        artifacts.mkdir(parents=True)
        for name in ("note.txt", "two words.zip"):
            (self.place / name).touch()
        sql = 'CREATE TABLE "order lines" (a INTEGER PRIMARY KEY AUTOINCREMENT); CREATE TABLE stamp (b); CREATE TABLE Shelf (c)'
        for bundle_name, store_name, code, day in (
                (BUNDLES[0], "orders", sql, 22), (BUNDLES[1], "customers", "CREATE TABLE city (name)", 21)):
            description = metadata(stores=[described(store_name, f"stores/{store_name}.sqlite")])
            description["failures"][0]["at"] = f"2026-11-{day}T07:08:09.120Z"
            content = store(self.directory / f"{store_name}.sqlite", code)
            bundle(artifacts / bundle_name, description, **{f"stores/{store_name}.sqlite": content})
        # The tool has its own name in PATH.
        (self.directory / "failure-artifacts").symlink_to(pathlib.Path(TOOL).resolve())
        self.environment = {
            **os.environ, "HOME": str(self.directory), "LC_ALL": "C.UTF-8", "TERM": "dumb",
            "PATH": f"{self.directory}:{os.environ['PATH']}"}
        self.environment.pop("FAILURE_ARTIFACTS_DIR", None)

    def script(self, shell, name=None):
        path = self.directory / (name or shell)
        path.write_text(subprocess.run([TOOL, "completions", shell], check=True, capture_output=True, text=True).stdout)
        return path

    def check_all(self, offered):
        for typed, expected in COMPLETIONS:
            with self.subTest(typed=typed):
                self.assertEqual(sorted(offered(typed)), sorted(expected))

    def test_all_commands_and_options(self):
        """What the tool offers is what its help lists."""
        def offered(*words):
            said = subprocess.run([TOOL, "completions", "--", *words], check=True, capture_output=True, text=True).stdout
            return [line.split("\t")[0] for line in said.splitlines()]

        commands = re.findall(r"^  ([a-z]+) ", tool("--help").stdout.split("Commands:")[1].split("Options:")[0], re.MULTILINE)
        self.assertEqual(offered(""), [*commands, "--help", "--version"])
        for command in commands:
            options = tool(command, "--help").stdout.split("\nOptions:\n")[1].split("\n\n")[0]
            self.assertEqual(offered(command, "-"), re.findall(r"^  (?:-\w, )?(--[\w-]+)", options, re.MULTILINE), command)

    def test_arguments(self):
        for arguments, status in ((["tcsh"], 64), ([], 64), (["--"], 64), (["--", ""], 0), (["bash", "zsh"], 64)):
            self.assertEqual(tool("completions", *arguments).returncode, status, arguments)

    @needs(shutil.which("bash"), "bash")
    def test_bash(self):
        # Called like readline does; without words of the function, readline completes paths.
        program = """
            source "$1"; shift
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
            registered=$(complete -p failure-artifacts)
            name=${registered#*-F }; "${name%% *}" failure-artifacts
            if [ ${#COMPREPLY[@]} -eq 0 ] && [[ $registered = *"-o default"* ]]; then
                compgen -f -- "${COMP_WORDS[COMP_CWORD]}"
            else
                for word in "${COMPREPLY[@]}"; do eval "printf '%s\\n' $word"; done
            fi"""

        def offered(typed):
            words = ["failure-artifacts", *typed.split(" ")]
            return subprocess.run(
                ["bash", "--norc", "-uc", program, "bash", self.script("bash"), *words], cwd=self.place,
                env=self.environment, capture_output=True, text=True).stdout.splitlines()

        self.check_all(offered)

    @needs(shutil.which("fish"), "fish")
    def test_fish(self):
        script = self.script("fish")

        def offered(typed):
            found = subprocess.run(
                ["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", str(script),
                 f"failure-artifacts {typed}"],
                cwd=self.place, env=self.environment, capture_output=True, text=True)
            self.assertEqual((found.returncode, found.stderr), (0, ""))
            return [line.split("\t")[0] for line in found.stdout.splitlines()]

        self.check_all(offered)

    @needs(shutil.which("zsh"), "zsh")
    def test_zsh(self):
        functions = self.directory / "functions"
        functions.mkdir()
        self.script("zsh", "functions/_failure-artifacts")
        answer = self.directory / "answer"
        setup = self.directory / "setup.zsh"
        # Every completion calls compadd. With -O, -A or -D, it only queries.
        setup.write_text("""
            PS1=; fpath=("$FUNCTIONS" $fpath); autoload -Uz compinit; compinit -u -D
            compadd() {
                if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
                local -a hits; builtin compadd -A hits "$@"; print -rl -- $hits >>"$ANSWER"; builtin compadd "$@"
            }
            finish() { print -r -- '--end--' >>"$ANSWER"; BUFFER= }
            zle -N finish; bindkey '^Xe' finish; bindkey '^I' complete-word; print -r -- '--end--' >>"$ANSWER"
            """)
        number, controller = pty.fork()
        if number == 0:
            os.chdir(self.place)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {
                **self.environment, "FUNCTIONS": str(functions), "ANSWER": str(answer)})

        def drain():
            with contextlib.suppress(OSError):
                while os.read(controller, 65536):
                    pass

        reader = threading.Thread(target=drain)
        reader.start()

        def type_and_wait(keys):
            answer.write_text("")
            os.write(controller, keys.encode())
            deadline = time.monotonic() + 60
            while not (text := answer.read_text()).endswith("--end--\n"):
                self.assertLess(time.monotonic(), deadline, f"zsh does not answer to {keys!r}")
                time.sleep(0.01)
            return text.splitlines()[:-1]

        try:
            type_and_wait(f"source '{setup}'\n")
            self.check_all(lambda typed: {
                line.replace("\\ ", " ") for line in type_and_wait(f"failure-artifacts {typed}\t\x18e") if line})
        finally:
            os.write(controller, b"\x15exit\n")
            os.waitpid(number, 0)
            reader.join()
            os.close(controller)

"""Programs in C use SQLite in unusual ways. With the collector's C code, they behave as without it.

Comments at the start of a program in `Native` say how it runs:

    // sanitizers: address thread      It also runs with each of these, without a report.
    // arguments: one two              It runs with each of these arguments, otherwise once without any.
    // compare: no                     It isn't built without the collector: it checks itself.
"""

import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from harness import BUILD, ROOT
import sanitizers

PROGRAMS = ROOT / "Tests" / "Integration" / "Native"
# The Swift modules define what these need.
NEEDS_SWIFT = ("install.c", "swift_testing.c")
FOLDERS = [ROOT / "Sources" / name for name in ("CFailureArtifactsShared", "CFailureArtifactsCapture")]
SOURCES = [file for folder in FOLDERS for file in sorted(folder.glob("*.c")) if file.name not in NEEDS_SWIFT]
HEADERS = [file for folder in [PROGRAMS, *FOLDERS] for file in folder.rglob("*.h")]
INCLUDES = [f"-I{path}" for folder in FOLDERS for path in (folder, folder / "include")]
FLAGS = ["-g", "-fno-omit-frame-pointer", "-Wall", "-Wextra", "-Werror"]
LAYERS = FOLDERS[1] / "include" / "discovery.h"
# Only a program that hangs takes so long, in seconds, even beside many others.
PATIENCE = 600


def clang(*arguments):
    # Linking with a sanitizer prints many warnings.
    result = subprocess.run(
        ["clang", *FLAGS, *INCLUDES, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 0, result.stdout


def compile_object(source, folder, flags):
    """Compiles a source, unless that was done since it or a header was changed. Returns the object's path."""
    made = folder / f"{source.stem}.o"
    if not made.is_file() or made.stat().st_mtime < max(file.stat().st_mtime for file in [source, *HEADERS]):
        folder.mkdir(parents=True, exist_ok=True)
        clang(*flags, "-c", source, "-o", f"{made}.new")
        os.replace(f"{made}.new", made)
    return made


def flags_of(sanitizer):
    return [f"-fsanitize={sanitizer}"] if sanitizer else []


def libraries(sanitizer):
    found = ["-lsqlite3", "-lpthread", "-ldl"]
    swift = pathlib.Path(shutil.which("clang")).resolve().parents[1] / "lib" / "swift" / "linux"
    if sanitizer == "thread" and swift.is_dir():
        # The Swift toolchain's ThreadSanitizer refers to it.
        found += [f"-L{swift}", f"-Wl,-rpath,{swift}", "-ldispatch", "-lBlocksRuntime"]
    return found


@functools.lru_cache(maxsize=None)
def collector(sanitizer):
    """The objects of the collector's C code, which all programs share."""
    folder = BUILD / "integration" / "native" / (sanitizer or "plain")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda source: compile_object(source, folder, ["-O2", *flags_of(sanitizer)]), SOURCES))


def build(program, directory, sanitizer=None, without=False):
    """Builds a program, and returns its path."""
    objects = [] if without else collector(sanitizer)
    built = directory / f"{program.stem}-{'without' if without else sanitizer or 'with'}"
    options = ["-O1", *flags_of(sanitizer), *["-DWITHOUT_COLLECTOR"] * without]
    clang(*options, program, *objects, "-o", built, *libraries(sanitizer))
    return built


def ends(command, directory, variables, patience=PATIENCE):
    """Runs a program in `directory`. Returns its status, or "hangs", and both outputs.

    The outputs are files: a child that the program has left behind would keep a pipe open.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            list(map(str, command)), cwd=directory, env={**os.environ, **variables}, stdin=subprocess.DEVNULL,
            stdout=output, stderr=errors, start_new_session=True)
        try:
            status = process.wait(patience)
        except subprocess.TimeoutExpired:
            status = "hangs"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        return status, *texts


def directive(text, name):
    found = re.search(rf"^// {name}: (.*)$", text, re.MULTILINE)
    return found[1].split() if found else []


class NativeTests(unittest.TestCase):
    maxDiff = None

    def check(self, program):
        text = program.read_text()
        without = directive(text, "compare") == ["no"]
        with tempfile.TemporaryDirectory(prefix="native-") as name:
            directory = pathlib.Path(name)
            yardstick = None if without else build(program, directory, without=True)
            for argument in directive(text, "arguments") or [""]:
                arguments = [argument] if argument else []
                expected = None if without else self.output([yardstick, *arguments], directory)
                for sanitizer in (None, *directive(text, "sanitizers")):
                    with self.subTest(argument=argument, sanitizer=sanitizer):
                        built = build(program, directory, sanitizer)
                        output = self.output([built, *arguments], directory, sanitizer)
                        if expected is not None:
                            self.assertEqual(output, expected)

    def output(self, command, directory, sanitizer=None):
        """Runs a program, which must succeed without a report of the sanitizer. Returns its output."""
        log = directory / "report"
        variables = sanitizers.variables(sanitizer, log)
        # A program has no Swift code, which would leak, and may fail at once.
        variables = {name: f"{options}:detect_leaks=1:exitcode=1" for name, options in variables.items()}
        with tempfile.TemporaryDirectory(dir=directory) as place:
            status, output, errors = ends(command, place, variables)
        reports = sanitizers.reports(log)
        sanitizers.forget(log)
        if reports:
            self.fail(reports[0].text)
        self.assertEqual(status, 0, errors[-4000:])
        return output

    def test_calls_go_one_way(self):
        """A file calls only those before it in the list of layers in discovery.h."""
        lines = re.findall(r"^//     ([a-z_]+(?:, [a-z_]+)*)    ", LAYERS.read_text(), re.MULTILINE)
        layers = [name for line in lines for name in line.split(", ")]
        owners, uses = {}, []
        for made in collector(None):
            for line in subprocess.check_output(["nm", made], text=True).splitlines():
                kind, symbol = line.split()[-2:]
                if symbol.startswith("failure_artifacts_"):
                    if kind == "U":
                        uses.append((made.stem, symbol))
                    elif kind.isupper():
                        owners[symbol] = made.stem
        self.assertEqual(set(owners.values()) - set(layers), {"child", "images", "redaction"})
        self.assertEqual(
            [(file, symbol) for file, symbol in uses if layers.index(file) < layers.index(owners[symbol])], [])

    def test_a_program_that_hangs_is_ended(self):
        status, output, _ = ends(["sh", "-c", "echo started; sleep 1000 & wait"], None, {}, patience=1)
        self.assertEqual((status, output), ("hangs", "started\n"))


def add(program):
    setattr(NativeTests, f"test_{program.stem}", lambda self: self.check(program))


for file in sorted(PROGRAMS.glob("*.c")):
    add(file)

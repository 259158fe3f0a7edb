"""Common parts of the measurements: processes, rounds, rows of the table."""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from places import KEPT

MEBIBYTE = 1 << 20
GIBIBYTE = 1 << 30


@dataclasses.dataclass
class Row:
    what: str
    ours: str
    other: str
    ratio: str
    goal: str
    met: bool | None  # None if there is no goal, or if the sizes differ from the goal's.


class Median(float):
    """The median of one way's results. `rounds` has the results of all ways in these rounds, by name."""

    def __new__(cls, name, rounds):
        median = super().__new__(cls, statistics.median(rounds[name]))
        median.name = name
        median.rounds = rounds
        return median

    def ratio(self, other):
        """The median of the ratios if both were measured in the same rounds, because the machine's speed may vary."""
        if isinstance(other, Median) and other.rounds is self.rounds:
            return statistics.median(a / b for a, b in zip(self.rounds[self.name], self.rounds[other.name]))
        return self / other


class Bench:
    """A benchmark run. A measurement is a function that receives it and calls `compare` and `absolute`.

    `mode` is `smoke`, `quick` or `full`. In `smoke` mode, everything is tiny and goals don't count.
    """

    def __init__(self, mode):
        self.mode = mode
        self.rows = []

    @property
    def counts(self):
        return self.mode != "smoke"

    def pick(self, smoke, quick, full=None):
        """A size or a number of rounds, depending on the mode."""
        return {"smoke": smoke, "quick": quick, "full": quick if full is None else full}[self.mode]

    # Rows

    def compare(self, what, ours, peer, other, goal=None, unit="s"):
        """Adds a row with a ratio, which should be at most `goal`."""
        ratio = ours.ratio(other) if isinstance(ours, Median) else ours / other
        met = ratio <= goal if goal is not None and self.counts else None
        self.add(Row(what, self.number(ours, unit), f"{self.number(other, unit)} ({peer})", f"{ratio:.2f}",
                     f"≤ {goal}" if goal is not None else "", met))

    def absolute(self, what, ours, goal=None, unit="s"):
        """Adds a row with a value, which should be at most `goal`."""
        met = ours <= goal if goal is not None and self.counts else None
        self.add(Row(what, self.number(ours, unit), "", "",
                     f"≤ {self.number(goal, unit)}" if goal is not None else "", met))

    def add(self, row):
        self.rows.append(row)
        print(f"  {row.what}: {row.ours} {row.ratio} {row.goal}{' MISSED' if row.met is False else ''}",
              file=sys.stderr, flush=True)

    @staticmethod
    def number(value, unit):
        if unit == "s" and value < 0.001:
            return f"{value * 1e6:.0f} µs"
        if unit == "s":
            return f"{value * 1000:.1f} ms" if value < 1 else f"{value:.2f} s"
        if unit == "bytes":
            return f"{value / MEBIBYTE:.1f} MiB"
        return f"{value:g} {unit}"

    def table(self):
        lines = ["| what | ours | other | ratio | goal | |", "| --- | ---: | ---: | ---: | ---: | --- |"]
        marks = {True: "met", False: "**missed**", None: ""}
        lines += [f"| {r.what} | {r.ours} | {r.other} | {r.ratio} | {r.goal} | {marks[r.met]} |" for r in self.rows]
        return "\n".join(lines)

    # Rounds

    @staticmethod
    def results(rounds, **ways):
        """Calls each way in turn, once to warm up and then `rounds` times. Returns the lists of results.

        Each way's writes are on the disk before the next way begins.
        """
        values = {name: [] for name in ways}
        for number in range(rounds + 1):
            for name, way in ways.items():
                os.sync()
                value = way()
                if number > 0 or rounds == 0:
                    values[name].append(value)
        return values

    @classmethod
    def interleave(cls, rounds, **ways):
        """The medians of the results."""
        values = cls.results(rounds, **ways)
        return {name: Median(name, values) for name in values}


# Processes


def timed(*commands, directory=None, environment=None, status=0):
    """Runs commands one after the other, and returns the seconds they took."""
    start = time.monotonic()
    for command in commands:
        result = subprocess.run(
            [str(part) for part in command], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env=clean_environment(**(environment or {})))
        if result.returncode != status:
            sys.exit(f"{command} ended with status {result.returncode}: {result.stderr.decode()[-2000:]}")
    return time.monotonic() - start


@dataclasses.dataclass
class Ended:
    """The resources that an ended process used."""

    status: int
    at: float  # The end, in seconds of the monotonic clock.
    peak: int  # The maximum resident size, in bytes.


def run(command, directory=None, environment=None):
    """Runs a command and measures its resources."""
    process = subprocess.Popen(
        [str(part) for part in command], cwd=directory, env=clean_environment(**(environment or {})),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    at = time.monotonic()
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024
    return Ended(process.returncode, at, usage.ru_maxrss * unit)


def clean_environment(**variables):
    """The necessary environment variables, and `variables`."""
    kept = {name: os.environ[name] for name in ("PATH", "DEVELOPER_DIR", "TMPDIR") if name in os.environ}
    return {**kept, "LANG": "C.UTF-8", "SWIFT_BACKTRACE": "enable=no",
            **{name: str(value) for name, value in variables.items()}}


@contextlib.contextmanager
def scratch():
    """A temporary directory on the disk that has the stores."""
    KEPT.mkdir(parents=True, exist_ok=True)
    path = pathlib.Path(tempfile.mkdtemp(prefix="scratch-", dir=KEPT))
    try:
        yield path
    finally:
        shutil.rmtree(path)

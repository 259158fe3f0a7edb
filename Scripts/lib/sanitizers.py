"""Reading the reports of ThreadSanitizer and AddressSanitizer."""

import dataclasses
import os
import pathlib
import re

from grdb import ROOT

VARIABLES = {
    # A report must not change the exit status, because all tests should run and give their results.
    "thread": ("TSAN_OPTIONS", "exitcode=0:history_size=4"),
    # The Swift runtime and Foundation keep some memory until the process ends.
    "address": ("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=1"),
}
BEGINNING = re.compile(r"^.*\b(WARNING|ERROR): (?:Thread|Address|Leak)Sanitizer: (.*)$", re.MULTILINE)
# `#0 function file:line (module+0x0)`; AddressSanitizer prints the address before the function.
FRAME = re.compile(r"^ +#\d+ (?:0x[0-9a-f]+ in )?(.*)$", re.MULTILINE)
# Mangled names of Swift functions contain the module's name.
OURS = re.compile(r"[Ff]ailure_?[Aa]rtifacts")
SOURCES = f"{ROOT}/Sources/"


def variables(sanitizer, path):
    """The environment that makes a sanitizer write reports to files whose names start with `path`."""
    if not sanitizer:
        return {}
    name, options = VARIABLES[sanitizer]
    return {name: f"{options}:log_path={path}"}


@dataclasses.dataclass
class Report:
    kind: str
    frames: list[str]
    text: str

    @property
    def is_ours(self):
        """True if one of the stacks contains a function of the product."""
        return any(
            SOURCES in frame or OURS.search(frame.split(" ", 1)[0]) for frame in self.frames)

    @property
    def place(self):
        """A summary without addresses: the innermost frames that have a source, by file and line."""
        places = [match[1] for frame in self.frames for match in [re.search(r"([^/ ]+\.\w+:\d+)", frame)] if match]
        return f"{self.kind}: {' < '.join(places[:3]) or (self.frames or ['?'])[0]}"


def reports(path):
    """The reports in files whose names start with `path`."""
    path = pathlib.Path(path)
    found = []
    for file in sorted(path.parent.glob(path.name + ".*")):
        text = file.read_text(errors="replace")
        starts = [match.start() for match in BEGINNING.finditer(text)]
        for start, end in zip(starts, starts[1:] + [len(text)]):
            part = text[start:end]
            kind = re.sub(r" \(pid=.*|0x[0-9a-f]+.*| on (unknown )?address.*", "", BEGINNING.match(part)[2])
            found.append(Report(kind.strip(), FRAME.findall(part), part))
    return found


def forget(path):
    """Removes the reports."""
    path = pathlib.Path(path)
    for file in path.parent.glob(path.name + ".*"):
        os.remove(file)

"""What ThreadSanitizer and AddressSanitizer report, and whether we have a part in it."""

import dataclasses
import os
import pathlib
import re

from grdb import ROOT

VARIABLES = {
    # A report is no reason to end with a status of its own: all tests are to be run, and to give their results.
    "thread": ("TSAN_OPTIONS", "exitcode=0:history_size=4"),
    # The runtime of Swift and Foundation keep what they have until the process ends.
    "address": ("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=1"),
}
BEGINNING = re.compile(r"^.*\b(WARNING: Thread|ERROR: Address|ERROR: Leak)Sanitizer: (.*)$", re.MULTILINE)
# `#0 function file:line (module+0x0)`; AddressSanitizer has the address before the function.
FRAME = re.compile(r"^ +#\d+ (?:0x[0-9a-f]+ in )?(.*)$", re.MULTILINE)
# Names of modules are part of what Swift makes of a function's name.
OURS = re.compile(r"[Ff]ailure_?[Aa]rtifacts")
SOURCES = f"{ROOT}/Sources/"


def variables(sanitizer, path):
    """The environment that has reports written to files whose names begin with `path`."""
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
        """Whether a function of ours is in one of its stacks."""
        return any(
            SOURCES in frame or OURS.search(frame.split(" ", 1)[0]) for frame in self.frames)

    @property
    def place(self):
        """What it is about, without addresses: the innermost frames that have a source, by file and line."""
        places = [match[1] for frame in self.frames for match in [re.search(r"([^/ ]+\.\w+:\d+)", frame)] if match]
        return f"{self.kind}: {' < '.join(places[:3]) or (self.frames or ['?'])[0]}"


def reports(path):
    """The reports in files whose names begin with `path`."""
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
    """Removes such files."""
    path = pathlib.Path(path)
    for file in path.parent.glob(path.name + ".*"):
        os.remove(file)

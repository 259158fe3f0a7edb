"""Parses the output of XCTest: the result and the failures of each test."""

import collections
import dataclasses
import re

# On Apple platforms, a test is called `-[Module.Class method]`.
NAME = r"(?:-\[\w+\.(\w+) (\w+)\]|(\w+)\.(\w+))"
ENDED = re.compile(rf"^Test Case '{NAME}' (passed|failed|skipped) \(", re.MULTILINE)
FAILURE = re.compile(rf"^.*?:\d+: error: {NAME} : (.*)$", re.MULTILINE)


@dataclasses.dataclass
class Log:
    """The parsed output of a test run."""

    ended: list[tuple[str, str]]  # The name and result of each test, in the order in which they ended.
    failures: dict[str, list[str]]  # The failure messages of each test.

    def __init__(self, text):
        self.ended = [(name_of(match.groups()), match[5]) for match in ENDED.finditer(text)]
        self.failures = collections.defaultdict(list)
        for match in FAILURE.finditer(text):
            self.failures[name_of(match.groups())].append(match[5])


def name_of(groups):
    return ".".join(part for part in groups[:4] if part)

"""Compares rebuilt states with the states that a workload kept.

    compare.py DIRECTORY HISTORY REBUILT

REBUILT has `N.sqlite` for each state of HISTORY. Prints the number of states that the workload has before the first
state of the history, the minimum of that number, and the problems, each on a line of its own.
"""

import os
import sqlite3
import struct
import sys

import wal

directory, history_path, rebuilt = sys.argv[1:]
problems = []


def read(*names):
    with open(os.path.join(*names), "rb") as file:
        return file.read()


def leaves(image, page_size):
    """Returns the pages whose content has no meaning."""
    result = set()
    trunk = struct.unpack_from(">I", image, 32)[0]
    while trunk:
        start = (trunk - 1) * page_size
        trunk, count = struct.unpack_from(">2I", image, start)
        result.update(struct.unpack_from(">%dI" % count, image, start + 8))
    return result


def content(path):
    connection = sqlite3.connect("file:%s?immutable=1" % path, uri=True)
    try:
        return (
            connection.execute("PRAGMA integrity_check").fetchall(),
            connection.execute("PRAGMA user_version").fetchall(),
            connection.execute("PRAGMA page_count").fetchall(),
            list(connection.iterdump()))
    finally:
        connection.close()


history = wal.History(history_path)
page_size = history.page_size
count = len(history.transactions)
states = len(os.listdir(os.path.join(directory, "states")))
omitted = states - 1 - count
copy = read(directory, "copy.sqlite")
for number in range(count + 1):
    expected_path = os.path.join(directory, "states", "%d.sqlite" % (omitted + number))
    found_path = os.path.join(rebuilt, "%d.sqlite" % number)
    expected, found = read(expected_path), read(found_path)
    if history.rebuild(number, copy) != found:
        problems.append("state %d: the independent reader has other bytes" % number)
    if len(expected) != len(found):
        problems.append("state %d: %d bytes instead of %d" % (number, len(found), len(expected)))
        continue
    unused = leaves(expected, page_size)
    for page in range(1, len(expected) // page_size + 1):
        old = expected[(page - 1) * page_size:page * page_size]
        new = found[(page - 1) * page_size:page * page_size]
        if page == 1:
            old, new = wal.meaningful(old), wal.meaningful(new)
        if old != new and page not in unused:
            problems.append("state %d: page %d differs" % (number, page))
    if content(expected_path) != content(found_path):
        problems.append("state %d: other content" % number)
    if content(found_path)[0] != [("ok",)]:
        problems.append("state %d: %s" % (number, content(found_path)[0]))

# Find the first state from which all later states can be rebuilt, using the kept states, which only this program
# knows.
_, valid = wal.frames(os.path.join(directory, "store.sqlite-wal"))
database = read(directory, "store.sqlite")
ends = [0] + [index + 1 for index, (_, size, _) in enumerate(valid) if size]
first = 0
for number in range(states - 2, -1, -1):
    image = read(directory, "states", "%d.sqlite" % number)
    size = len(image) // page_size
    known = {page for page, _, _ in valid[:ends[number]]}
    needed = {page for page, _, _ in valid[ends[number]:ends[-1]]}
    needed |= set(range(len(copy) // page_size + 1, size + 1))
    needed = {page for page in needed - known if page <= size}
    slices = [slice((page - 1) * page_size, page * page_size) for page in needed - leaves(image, page_size)]
    if any(image[part] != database[part] for part in slices if part.start):
        first = number + 1
        break
    if 1 in needed and wal.meaningful(image[:page_size]) != wal.meaningful(database[:18] + b"\1\1" + database[20:page_size]):
        first = number + 1
        break

print(omitted)
print(first)
print("\n".join(problems[:10]))

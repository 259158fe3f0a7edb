"""Stores that a second copy of SQLite has open, with different symbols. They are found and keep their locks."""

import functools
import pathlib
import shutil
import subprocess
import unittest

from harness import BUILD, NEEDS, SuiteCase

PREFIX = "second_"


@functools.lru_cache(maxsize=None)
def second_library():
    """A shared library made from the system's static one, with prefixed symbols; None if there is no static one."""
    archives = sorted(pathlib.Path("/usr/lib").glob("*/libsqlite3.a"))
    if not archives or not all(map(shutil.which, ("nm", "objcopy", "cc"))):
        return None
    place = BUILD / "integration" / "second-sqlite"
    place.mkdir(parents=True, exist_ok=True)
    library = place / "libsecond.so"
    if library.is_file() and library.stat().st_mtime > archives[0].stat().st_mtime:
        return library
    listed = subprocess.run(
        ["nm", "-g", "--defined-only", str(archives[0])], check=True, capture_output=True, text=True).stdout
    symbols = {line.split()[2] for line in listed.splitlines() if len(line.split()) == 3}
    renamed = place / "symbols"
    renamed.write_text("".join(f"{symbol} {PREFIX}{symbol}\n" for symbol in sorted(symbols)))
    archive = place / "second.a"
    subprocess.run(
        ["objcopy", f"--redefine-syms={renamed}", str(archives[0]), str(archive)], check=True)
    subprocess.run(
        # The archive isn't built for shared libraries, so its symbols must not be interposed.
        ["cc", "-shared", "-o", str(library), "-Wl,-Bsymbolic", "-Wl,--whole-archive", str(archive),
         "-Wl,--no-whole-archive", "-lm", "-lpthread", "-ldl", "-lz"], check=True, capture_output=True)
    return library


class SecondLibrary(SuiteCase):
    @classmethod
    def setUpClass(cls):
        if second_library() is None:
            raise unittest.SkipTest(NEEDS + "a static library of SQLite, nm, objcopy and cc")
        cls.needs = (("SECOND_SQLITE", str(second_library())),)

    def scenario(self, name, message, warnings=0):
        bundle = self.leaves(f"RawSuite.SecondLibraryTests/{name}", warnings=warnings)
        self.assertTest(bundle, "SecondLibraryTests", name, message)
        self.assertStores(bundle, second=["apple"])
        store = bundle.described("second")
        self.assertEqual(store["capture"]["method"], "fileCopy")
        self.assertIs(store["capture"]["consistent"], True)
        return bundle

    def test_outside_a_transaction(self):
        for name in ("testOutsideWithAWAL", "testOutsideWithARollbackJournal"):
            with self.subTest(name):
                self.scenario(name, "in a second library")

    def test_inside_a_transaction(self):
        for name in ("testInsideWithAWAL", "testInsideWithARollbackJournal"):
            with self.subTest(name):
                bundle = self.scenario(name, "in a second library's transaction", warnings=1)
                self.assertEqual(bundle.metadata["warnings"][0]["code"], "other-writer")

    def test_deleted(self):
        for name in ("testDeletedWithAWAL", "testDeletedWithARollbackJournal"):
            with self.subTest(name):
                bundle = self.scenario(name, "deleted in a second library", warnings=1)
                self.assertIs(bundle.described("second")["deleted"], True)

"""Copies of the system's SQLite whose functions have a prefix, as in packages that include SQLite."""

import pathlib
import shutil
import subprocess

# sqlite-nio is built without these functions (SQLITE_OMIT_TRACE and so on in its Package.swift).
OMITTED_BY_NIO = {
    "sqlite3_enable_shared_cache", "sqlite3_trace", "sqlite3_trace_v2", "sqlite3_profile", "sqlite3_serialize", "sqlite3_deserialize",
    "sqlite3_progress_handler", "sqlite3_load_extension", "sqlite3_enable_load_extension"}


def archive(prefix, directory, omitted=frozenset()):
    """Makes a static library from the system's, unless it is there; None if the system has none, or not the tools.

    The functions in `omitted` get other names, so that nothing finds them.
    """
    archives = sorted(pathlib.Path("/usr/lib").glob("*/libsqlite3.a"))
    if not archives or not all(map(shutil.which, ("nm", "objcopy", "cc"))):
        return None
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"lib{prefix}sqlite3.a"
    # The omitted functions are named above.
    sources = archives[0], pathlib.Path(__file__)
    if path.is_file() and path.stat().st_mtime > max(source.stat().st_mtime for source in sources):
        return path
    listed = subprocess.run(
        ["nm", "-g", "--defined-only", str(archives[0])], check=True, capture_output=True, text=True).stdout
    symbols = {line.split()[2] for line in listed.splitlines() if len(line.split()) == 3}
    renamed = directory / f"{prefix}symbols"
    renamed.write_text("".join(
        f"{symbol} {'omitted_' if symbol in omitted else ''}{prefix}{symbol}\n" for symbol in sorted(symbols)))
    made = path.with_suffix(".new")
    subprocess.run(["objcopy", f"--redefine-syms={renamed}", str(archives[0]), str(made)], check=True)
    made.replace(path)
    return path


def library(prefix, directory):
    """Makes a shared library from such a static one; None without the static one."""
    source = archive(prefix, directory)
    if source is None:
        return None
    path = directory / f"lib{prefix}sqlite3.so"
    if path.is_file() and path.stat().st_mtime > source.stat().st_mtime:
        return path
    made = path.with_suffix(".new")
    subprocess.run(
        # The archive isn't built for shared libraries, so its symbols must not be interposed.
        ["cc", "-shared", "-o", str(made), "-Wl,-Bsymbolic", "-Wl,--whole-archive", str(source),
         "-Wl,--no-whole-archive", "-lm", "-lpthread", "-ldl", "-lz"], check=True, capture_output=True)
    made.replace(path)
    return path

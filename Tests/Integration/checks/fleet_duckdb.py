"""Runs statements in DuckDB. Reads `{"directory", "statements": [sql]}`, prints a list of results."""

import json
import pathlib
import shutil
import sys

import duckdb
import duckdb_extension_httpfs

task = json.load(sys.stdin)
database = duckdb.connect()
(platform,) = database.execute("PRAGMA platform").fetchone()
# The path of an extension that DuckDB has installed from the network.
place = pathlib.Path(task["directory"]) / f"v{duckdb.__version__}" / platform
place.mkdir(parents=True)
packages = pathlib.Path(duckdb_extension_httpfs.__path__[0])
shutil.copy(next(packages.rglob("httpfs.duckdb_extension")), place)
database.execute(f"SET extension_directory = '{task['directory']}'")

results = []
for sql in task["statements"]:
    for statement in database.extract_statements(sql):
        found = database.execute(statement)
        columns = [column[0] for column in found.description or []]
        rows = found.fetchall()
    results.append([dict(zip(columns, row)) for row in rows])
json.dump(results, sys.stdout, default=str)

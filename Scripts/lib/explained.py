"""Runs `explain` on bundles and confirms the findings of confidence `certain` by other means.

    python3 explained.py DIRECTORY    checks the bundles in a directory
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import zipfile

from products import TOOL

# The findings that SQLite's `integrity_check` reports, too.
INTEGRITY = {"integrity", "check-violation", "not-null-violation"}
# The findings about a statement that failed.
FAILED = {"statement-failed", "constraint-failed", "busy", "schema-error"}


def check(bundles):
    """Explains bundles, prints each distinct certain finding, and returns a full sentence for each wrong one."""
    problems, codes, certain = [], collections.Counter(), collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for bundle, (findings, problem) in zip(bundles, pool.map(explain, bundles)):
            if problem:
                problems.append(problem)
            for finding in findings:
                codes[finding["confidence"], finding["code"]] += 1
                if finding["confidence"] != "certain":
                    continue
                confirmed = is_confirmed(bundle, finding)
                verdict = {True: "confirmed", False: "WRONG", None: "judge by hand"}[confirmed]
                certain[verdict, finding["code"], finding["title"], finding["explanation"]] += 1
                if confirmed is False:
                    problems.append(f"'failure-artifacts explain' is wrong about {bundle.name}: {finding['title']}.")
    print(f"'failure-artifacts explain' on {len(bundles)} bundles:", flush=True)
    for (confidence, code), count in sorted(codes.items()):
        print(f"{count:6} {confidence}: {code}")
    for (verdict, code, title, explanation), count in sorted(certain.items()):
        print(f"{count:6} {verdict}: {code}: {title}. {explanation}")
    return problems


def explain(bundle):
    """Returns the findings about a bundle, and a full sentence if there are none because of an error."""
    result = subprocess.run([TOOL, "explain", "--all", "--json", bundle], capture_output=True, text=True)
    if result.returncode != 0:
        return [], f"'failure-artifacts explain' ended with status {result.returncode} for {bundle}: {result.stderr}"
    return json.loads(result.stdout)["findings"], None


def is_confirmed(bundle, finding):
    """Returns True or False if the bundle's content proves or disproves a finding; None if it needs judgement."""
    code = finding["code"]
    if code == "foreign-key-violation":
        violations = pragma(bundle, finding["store"], "foreign_key_check")
        return any(row["table"] in {violation[0] for violation in violations} for row in finding["rows"])
    if code in INTEGRITY:
        return pragma(bundle, finding["store"], "integrity_check") != [("ok",)]
    if code in FAILED and "statement" in finding:
        failed = {line["sql"] for line in statements(bundle, finding["store"]) if "error" in line}
        message, sql = " ".join(failure_message(bundle).split()), finding["statement"]["sql"]
        if sql in failed or " ".join(sql.split()) in message:
            return True
        # SQLite doesn't log these errors.
        return None if "FOREIGN KEY" in message or "locked" in message else False
    return None


def failure_message(bundle):
    with zipfile.ZipFile(bundle) as archive:
        failures = json.loads(archive.read("metadata.json"))["failures"]
    return failures[0]["message"] if failures else ""


def store(archive, name):
    stores = json.loads(archive.read("metadata.json"))["stores"]
    return next(store for store in stores if store["name"] == name)


def pragma(bundle, name, pragma):
    """Returns the rows of a pragma for a store's copy."""
    with zipfile.ZipFile(bundle) as archive, tempfile.TemporaryDirectory() as directory:
        path = archive.extract(store(archive, name)["entry"], directory)
        connection = sqlite3.connect(path)
        try:
            return connection.execute(f"PRAGMA {pragma}").fetchall()
        except sqlite3.DatabaseError as error:
            return [(str(error),)]
        finally:
            connection.close()


def statements(bundle, name):
    """Returns the logged statements of a store."""
    with zipfile.ZipFile(bundle) as archive:
        entry = store(archive, name).get("statements", {}).get("entry")
        return [json.loads(line) for line in archive.read(entry).splitlines()] if entry else []


if __name__ == "__main__":
    found = check(sorted(pathlib.Path(sys.argv[1]).glob("*.zip")))
    print("\n".join(found))
    sys.exit(1 if found else 0)

"""Where things are."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What is made once and kept.
KEPT = ROOT / ".build" / "benchmark"
STORES = KEPT / "stores"
TOOL = ROOT / ".build" / "debug" / "failure-artifacts"
SUITE = ROOT / ".build" / "nested" / "debug" / "benchmark-suitePackageTests.xctest"
RESOURCES = ROOT / "Sources" / "FailureArtifacts" / "Documentation.docc" / "Resources"
# GRDB as it is, and as its own tests are run.
GRDB = KEPT / "grdb"
GRDB_TESTS = KEPT / "grdb-tests"

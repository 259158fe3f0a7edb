"""The paths of files and directories."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Files that are created once and kept.
KEPT = ROOT / ".build" / "benchmark"
STORES = KEPT / "stores"
TOOL = ROOT / ".build" / "debug" / "failure-artifacts"
SUITE = ROOT / ".build" / "nested" / "debug" / "benchmark-suitePackageTests.xctest"
RESOURCES = ROOT / "Sources" / "FailureArtifacts" / "Documentation.docc" / "Resources"
# Checkouts of GRDB: unchanged, and prepared for running its tests.
GRDB = KEPT / "grdb"
GRDB_TESTS = KEPT / "grdb-tests"

"""The paths of files and directories."""

from products import ROOT, TOOL, programs_of_tests  # noqa: F401

# Files that are created once and kept.
KEPT = ROOT / ".build" / "benchmark"
STORES = KEPT / "stores"
SUITE = programs_of_tests("benchmark-suite", ["BenchmarkSuite"])["BenchmarkSuite"]
RESOURCES = ROOT / "Sources" / "FailureArtifacts" / "Documentation.docc" / "Resources"
# Checkouts of GRDB: unchanged, and prepared for running its tests.
GRDB = KEPT / "grdb"
GRDB_TESTS = KEPT / "grdb-tests"

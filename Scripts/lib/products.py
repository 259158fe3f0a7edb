"""The places of what SwiftPM builds, which depend on its build system."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
NESTED = ROOT / ".build" / "nested"
# As in setup.sh.
OPTIONS = ["--scratch-path", str(NESTED), "--disable-build-manifest-caching"]
os.environ["FAILURE_ARTIFACTS_STRICT"] = "1"


def directory():
    """Returns the directory of the products."""
    # SwiftPM answers even while another process builds.
    command = ["swift", "build", "--ignore-lock", "--package-path", str(ROOT), "--scratch-path", str(NESTED), "--show-bin-path"]
    return pathlib.Path(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


PRODUCTS = directory()
BUILT_TOOL = PRODUCTS / "failure-artifacts"
# `Scripts/test` has one that was built for release, which reads several times as fast.
TOOL = pathlib.Path(os.environ.get("INTEGRATION_TOOL", BUILT_TOOL))
TOOL_BUILD = ["swift", "build", *OPTIONS, "--package-path", str(ROOT), "--product", "failure-artifacts"]


def programs_of_tests(package, targets):
    """Returns the programs with the tests of a nested package, for each of its test targets.

    Swift Build, the default from Swift 6.4 on, makes a program for each test target. The native build system makes one
    for all.
    """
    if PRODUCTS.parent.name == "Products":
        return {target: PRODUCTS / f"{target}-test-runner" for target in targets}
    return dict.fromkeys(targets, PRODUCTS / f"{package}PackageTests.xctest")

"""The places of what SwiftPM builds, which depend on its build system."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
# All nested packages are built there, so that shared parts are compiled once.
NESTED = ROOT / ".build" / "nested"


def directory():
    """Returns the directory of this package's products."""
    # SwiftPM answers even while another process builds.
    command = ["swift", "build", "--ignore-lock", "--package-path", str(ROOT), "--show-bin-path"]
    return pathlib.Path(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


PRODUCTS = directory()
NESTED_PRODUCTS = NESTED / PRODUCTS.relative_to(ROOT / ".build")
TOOL = PRODUCTS / "failure-artifacts"


def programs_of_tests(package, targets):
    """Returns the programs with the tests of a nested package, for each of its test targets.

    Swift Build, the default from Swift 6.4 on, makes a program for each test target. The native build system makes one
    for all.
    """
    if PRODUCTS.parent.name == "Products":
        return {target: NESTED_PRODUCTS / f"{target}-test-runner" for target in targets}
    return dict.fromkeys(targets, NESTED_PRODUCTS / f"{package}PackageTests.xctest")

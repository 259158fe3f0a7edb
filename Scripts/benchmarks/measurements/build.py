"""Clean debug builds: of the product in a user's package, of GRDB, and of a package that uses both."""

import shutil

from bench import scratch, timed
import grdb
from places import GRDB, ROOT

OURS = ("failure-artifacts", "FailureArtifacts", ROOT)
PEER = ("GRDB.swift", "GRDB", GRDB)


def measure(bench):
    # This takes minutes, and the integration tests check that both build.
    if bench.mode == "smoke":
        return
    grdb.prepare(GRDB)
    with scratch() as directory:
        def way(name, *dependencies):
            package = directory / f"user-of-{name}"
            write(package, dependencies)
            return lambda: clean_build(package, directory / f"{name}-products")

        # The warm-up round reads the compiler from the disk.
        found = bench.interleave(
            bench.pick(0, 1, 3), ours=way("ours", OURS), grdb=way("grdb", PEER), both=way("both", OURS, PEER))
    bench.compare("clean debug build of the product in a user's package", found["ours"], "GRDB's", found["grdb"], goal=0.5)
    bench.compare(
        "clean debug build of a package with GRDB and the product", found["both"], "with GRDB alone", found["grdb"])


def clean_build(package, products):
    shutil.rmtree(products, ignore_errors=True)
    # As a user builds it.
    return timed([
        "env", "-u", "FAILURE_ARTIFACTS_STRICT", "swift", "build", "--package-path", package, "--scratch-path", products, "--target", "User",
        "--disable-build-manifest-caching"])


def write(user, dependencies):
    """A package with a target that depends on products, each given as package, product and path."""
    (user / "Sources" / "User").mkdir(parents=True)
    (user / "Sources" / "User" / "User.swift").write_text(
        "".join(f"public import {product}\n" for _, product, _ in dependencies))
    packages = "".join(f'        .package(name: "{name}", path: "{path}"),\n' for name, _, path in dependencies)
    products = "".join(
        f'                .product(name: "{product}", package: "{name}"),\n' for name, product, _ in dependencies)
    (user / "Package.swift").write_text(f'''// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "user",
    platforms: [.macOS(.v13)],
    dependencies: [
{packages}    ],
    targets: [
        .target(
            name: "User",
            dependencies: [
{products}            ])
    ]
)
''')

"""A clean debug build of the product in a user's package, compared with one of GRDB."""

import shutil

from bench import scratch, timed
import grdb
from places import GRDB, ROOT


def measure(bench):
    # This takes minutes, and the integration tests check that both build.
    if bench.mode == "smoke":
        return
    grdb.prepare(GRDB)
    with scratch() as directory:
        user = directory / "user"
        write(user)
        # The warm-up round reads the compiler from the disk.
        found = bench.interleave(
            1, ours=lambda: clean_build(user, directory / "ours", "User"),
            grdb=lambda: clean_build(GRDB, directory / "grdb", "GRDB"))
    bench.compare("clean debug build in a user's package", found["ours"], "GRDB's", found["grdb"], goal=0.3)


def clean_build(package, products, target):
    shutil.rmtree(products, ignore_errors=True)
    return timed([
        "swift", "build", "--package-path", package, "--scratch-path", products, "--target", target,
        "--disable-build-manifest-caching"])


def write(user):
    (user / "Sources" / "User").mkdir(parents=True)
    (user / "Sources" / "User" / "User.swift").write_text("public import FailureArtifacts\n")
    (user / "Package.swift").write_text(f'''// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "user",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "failure-artifacts", path: "{ROOT}")],
    targets: [
        .target(
            name: "User",
            dependencies: [.product(name: "FailureArtifacts", package: "failure-artifacts")])
    ]
)
''')

"""Makes the package of the fuzzer, `.build/fuzz/package`: libFuzzer with the reading side of the product.

The product's targets are compiled there once more, with the fuzzer's instrumentation and in the package of the fuzzer's
own code. Their sources are symbolic links, and their descriptions come from the product's manifest.
"""

import json
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / ".build" / "fuzz" / "package"
# The places of the fuzzer's own targets below `Tests`.
OWN = {"FuzzTargets": "FailureArtifactsFuzzTests/Targets", "FuzzEntry": "Fuzz"}


def description(target):
    """Returns a target as its manifest writes it."""
    words = [f"name: {json.dumps(target['name'])}"]
    if target["type"] == "system":
        return f".systemLibrary({words[0]}, pkgConfig: {json.dumps(target['pkgConfig'])})"
    words.append(f"dependencies: {json.dumps([dependency['byName'][0] for dependency in target['dependencies']])}")
    if target["type"] == "executable":
        # Here it is a library.
        words.append('exclude: ["main.swift"]')
    for resource in target["resources"]:
        (rule,) = resource["rule"]
        words.append(f"resources: [.{rule}({json.dumps(resource['path'])})]")
    features = [setting["kind"]["enableUpcomingFeature"]["_0"] for setting in target["settings"]
                if "enableUpcomingFeature" in setting["kind"]]
    if features:
        words.append("swiftSettings: [" + ", ".join(f'.enableUpcomingFeature("{feature}")' for feature in features) + "]")
    return f".target({', '.join(words)})"


def main():
    text = subprocess.run(
        ["swift", "package", "--ignore-lock", "--package-path", str(ROOT), "dump-package"], stdout=subprocess.PIPE,
        check=True).stdout
    package = {target["name"]: target for target in json.loads(text)["targets"]}
    sources = "".join(path.read_text() for path in (ROOT / "Tests" / OWN["FuzzTargets"]).glob("*.swift"))
    imported = sorted(set(re.findall(r"^[\w@ ]*\bimport (\w+)", sources, re.MULTILINE)) & package.keys())
    needed = {}

    def need(name):
        if name not in needed:
            for dependency in package[name].get("dependencies", []):
                need(dependency["byName"][0])
            needed[name] = package[name]

    for name in imported:
        need(name)
    own = {"settings": package["FailureArtifactsFuzzTests"]["settings"], "resources": [], "type": "regular"}
    targets = {name: {**own, "name": name, "dependencies": [{"byName": [other]} for other in others]}
               for name, others in zip(OWN, (imported, ["FuzzTargets"]))}
    places = {name: ROOT / "Sources" / name for name in needed} | {
        name: ROOT / "Tests" / place for name, place in OWN.items()}
    shutil.rmtree(PACKAGE, ignore_errors=True)
    (PACKAGE / "Sources").mkdir(parents=True)
    for name, place in places.items():
        (PACKAGE / "Sources" / name).symlink_to(place)
    lines = ",\n        ".join(map(description, [*needed.values(), *targets.values()]))
    lines = lines.replace('.target(name: "FuzzEntry"', '.executableTarget(name: "FuzzEntry"')
    (PACKAGE / "Package.swift").write_text(
        "// swift-tools-version: 6.3\n\nimport PackageDescription\n\nlet package = Package(\n"
        f'    name: "fuzz", platforms: [.macOS(.v13)],\n    targets: [\n        {lines},\n    ])\n')


if __name__ == "__main__":
    main()

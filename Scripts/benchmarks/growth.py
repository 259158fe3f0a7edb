"""Draws the cost by the size of a store and by the number of failing tests, for the documentation."""

import dataclasses
import json
import sys

from bench import GIBIBYTE, MEBIBYTE, run, scratch, timed
from capture import capture
from places import KEPT, RESOURCES, SUITE
import workloads

SIZES = [MEBIBYTE, 16 * MEBIBYTE, 65 * MEBIBYTE, 256 * MEBIBYTE, GIBIBYTE]
FAILURES = [1, 10, 100, 1000]


@dataclasses.dataclass
class Curve:
    name: str
    # The product's curves are solid lines, the other ones are dashed.
    ours: bool
    points: list


def measure_and_draw(bench):
    draw(by_size(bench), "growth-with-size", "size of the store, in MiB")
    draw(by_failures(bench), "growth-with-failures", "failing tests, with a store of 100 KiB each")


def by_size(bench):
    curves = {
        "held": Curve("the failing test is held up (WAL)", True, []), "cp": Curve("cp of the store", False, []),
        "ours": Curve("capture, to the finished zip", True, []),
        "zip": Curve("sqlite3 .backup, zip -6", False, []), "pigz": Curve("sqlite3 .backup, pigz -1", False, [])}
    for size in SIZES:
        store = workloads.store(size)
        with scratch() as directory:
            copy, zipped = directory / "copy.sqlite", directory / "copy.zip"
            backup = ["sqlite3", store, f".backup '{copy}'"]

            def zip_6():
                zipped.unlink(missing_ok=True)
                return timed(backup, ["zip", "-q", "-j", "-6", zipped, copy])

            found = bench.interleave(
                1 if size >= GIBIBYTE else 3, held=lambda: capture(store, wal=True).held,
                cp=lambda: timed(["cp", store, copy]), ours=lambda: capture(store).total, zip=zip_6,
                pigz=lambda: timed(backup, ["pigz", "-1", "--keep", "--force", copy]))
        for name, seconds in found.items():
            curves[name].points.append((size / MEBIBYTE, seconds))
            print(f"  {size // MEBIBYTE} MiB, {curves[name].name}: {seconds:.4f} s", file=sys.stderr, flush=True)
    return list(curves.values())


def by_failures(bench):
    curves = {"ours": Curve("a run of tests, with their bundles", True, []),
              "off": Curve("without the product", False, [])}
    for count in FAILURES:
        found = bench.interleave(
            3, ours=lambda: suite(count, "first-failure"), off=lambda: suite(count, "off"))
        for name, seconds in found.items():
            curves[name].points.append((count, seconds))
            print(f"  {count} failures, {curves[name].name}: {seconds:.4f} s", file=sys.stderr, flush=True)
    return list(curves.values())


def suite(count, mode):
    """The seconds from the start of a process of failing tests until all bundles are complete."""
    with scratch() as directory:
        seconds = timed(
            [SUITE, "BenchmarkSuite.SmallCaptureTests/testNothing"], directory=directory, environment={
                "BENCHMARK_STORE": workloads.store(100 << 10), "BENCHMARK_COUNT": count,
                "BENCHMARK_REPORT": directory / "report.json", "BENCHMARK_BACKGROUND": 1, "FAILURE_ARTIFACTS": mode,
                "FAILURE_ARTIFACTS_DIR": directory / "artifacts", "FAILURE_ARTIFACTS_MAX_BUNDLES": count})
        bundles = len(list((directory / "artifacts").glob("*.zip")))
        if bundles != (0 if mode == "off" else count):
            sys.exit(f"{count} tests failed, with {bundles} bundles.")
        return seconds


def draw(curves, name, label):
    """Draws curves on logarithmic scales. Linear growth is parallel to the gray lines."""
    # Imported here, because it is installed only for drawing.
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": name, "font.family": "sans-serif", "svg.fonttype": "none"})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.8))
    axes.set(xscale="log", yscale="log", xlabel=label, ylabel="seconds")
    for number, curve in enumerate(curves):
        x, y = zip(*curve.points)
        axes.plot(x, y, "-o" if curve.ours else "--s", markersize=4, label=curve.name, color=f"C{number}")
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    for exponent in range(-9, 3):
        axes.plot([low, high], [low * 10.0 ** exponent, high * 10.0 ** exponent], color="0.85", linewidth=0.7, zorder=0)
    axes.set(xlim=(low, high), ylim=(bottom, top))
    axes.set_xticks([x for x, _ in curves[0].points], [f"{x:g}" for x, _ in curves[0].points], minor=False)
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(RESOURCES / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
    (KEPT / f"{name}.json").write_text(json.dumps([dataclasses.asdict(curve) for curve in curves], indent=2))

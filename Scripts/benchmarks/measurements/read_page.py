"""The page of a report in Chromium: until it can be used, for a step of its timeline, and for scrolling a large table."""

import json
import shutil
import statistics
import sys
import zipfile

from bench import MEBIBYTE, run, scratch
from capture import bundle, capture
from places import KEPT, ROOT, TOOL
from read_many import make
import workloads

# The first cell of the first failure's table is the last thing that the page makes.
WATCH = """new MutationObserver(() => {
    if (!window.shownAt && document.querySelector('.grid td[data-column]')) window.shownAt = performance.now();
}).observe(document, { subtree: true, childList: true })"""

# From moving the slider to the drawn table.
STEP = """(async () => {
    const range = document.querySelector('.scrubber input'), times = [];
    for (let i = 1; i <= %d; i += 1) {
        const start = performance.now();
        range.value = Number(range.max) - i;
        range.dispatchEvent(new Event('input', { bubbles: true }));
        const title = document.querySelector('.summary').textContent;
        await new Promise(done => {
            const look = () => document.querySelector('.summary').textContent !== title ? done() : setTimeout(look);
            look();
        });
        times.push(performance.now() - start);
    }
    return times;
})()"""

# From scrolling to the next frame with all rows in view: a turn of the wheel, or a jump in both directions.
SCROLL = """(async () => {
    const grid = document.querySelector('.grid'), times = [];
    const shows = (y) => [...grid.querySelectorAll('tr[data-index]')].some(row => {
        const box = row.getBoundingClientRect();
        return box.top <= y && y <= box.bottom;
    });
    const box = grid.getBoundingClientRect();
    for (let i = 1; i <= %(count)d; i += 1) {
        const start = performance.now();
        grid.scrollTop += %(down)d;
        grid.scrollLeft += %(right)d;
        do await new Promise(done => requestAnimationFrame(done));
        while (!shows(box.top + 80) || !shows(box.bottom - 40));
        times.push(performance.now() - start);
    }
    return times;
})()"""


def measure(bench):
    sys.path.insert(0, str(ROOT / "Tests/Integration/checks"))
    import browser
    if not browser.executable():
        print("There is no Chromium, so the page is not measured.", file=sys.stderr)
        return
    count = bench.pick(5, 200)
    with scratch() as place, browser.page() as page:
        page.show(1440, 1000, "light")
        report(distinct(count), place / "many.html")
        page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        times = []
        for _ in range(bench.pick(1, 5)):
            page.open("about:blank")
            page.open((place / "many.html").as_uri())
            page.wait("!!window.shownAt")
            times.append(page.run("shownAt") / 1000)
        bench.absolute(f"page of {count} failures, until it can be used", min(times), goal=0.3)

        steps = bench.pick(10, 100)
        report(bundle(bench.pick(1, 3) * MEBIBYTE, transactions=steps * 2), place / "steps.html")
        page.open((place / "steps.html").as_uri())
        page.wait("!!window.shownAt")
        rows = page.run("document.querySelector('.summary').textContent").split(" row")[0]
        times = [time / 1000 for time in page.run(STEP % steps)]
        bench.absolute(f"page, a step of the timeline, {rows} rows", statistics.median(times), goal=0.05)

        rows, columns = bench.pick(1000, 10_000), 200
        store = workloads.wide(rows, columns)
        capture(store, keep=place / "wide.zip")
        report(place / "wide.zip", place / "wide.html", "--max-bytes", "40MB")
        page.open((place / "wide.html").as_uri())
        page.wait("!!window.shownAt")
        summary = page.run("document.querySelector('.summary').textContent")
        assert summary.startswith(f"{rows:,} row"), summary
        for name, down, right, goal in [("a turn of the wheel", 120, 0, 0.034), ("a jump", 1500, 500, None)]:
            page.run("document.querySelector('.grid').scrollTo(0, 0); 0")
            scroll = SCROLL % {"count": bench.pick(10, 100), "down": down, "right": right}
            times = sorted(time / 1000 for time in page.run(scroll))
            # The slowest of 20.
            bench.absolute(
                f"page, {name} over {rows} rows × {columns} columns", times[len(times) * 19 // 20], goal=goal)


def report(path, output, *options):
    ended = run([TOOL, "report", path, "-o", output, *options])
    assert ended.status == 0, ended


def distinct(count):
    """A directory of `count` bundles with as many causes."""
    directory = KEPT / f"distinct-bundles-{count}"
    if directory.exists():
        return directory
    with scratch() as partial:
        shutil.copytree(make(count), partial / "made")
        for number, path in enumerate(sorted((partial / "made").glob("*.zip"))):
            with zipfile.ZipFile(path) as archive:
                entries = {name: archive.read(name) for name in archive.namelist()}
            metadata = json.loads(entries["metadata.json"])
            metadata["fingerprint"] = f"{number:016x}"
            entries["metadata.json"] = json.dumps(metadata)
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                for name, content in entries.items():
                    archive.writestr(name, content)
        (partial / "made").rename(directory)
    return directory

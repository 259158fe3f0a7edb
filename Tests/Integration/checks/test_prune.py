"""`prune` on bundles of real failures, with processes that fail before, during and after it."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import zipfile

from test_budget import SEED, TOOL, BudgetCase, Crowd

NOBODY = 65534


def metadata(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("metadata.json"))


class PruneCase(BudgetCase):
    def paths(self, artifacts):
        return set(artifacts.glob("*.zip"))

    def prune(self, crowd, *options, status=0):
        result = crowd.tool("prune", crowd.artifacts, "--json", *options)
        self.assertEqual(result.returncode, status, result.stderr)
        return json.loads(result.stdout)


class Pruned(PruneCase):
    def test_the_newest_stay_and_there_is_room_again(self):
        crowd = Crowd(self.directory, FAILURE_ARTIFACTS_MAX_BUNDLES=40, BUDGET_BYTES=1000)
        self.assertEqual(crowd.run(1).bundles, 40)
        # After copying, the files have other times.
        paths = list(self.paths(crowd.artifacts))
        random.Random(SEED).shuffle(paths)
        for index, path in enumerate(paths):
            os.utime(path, (1_700_000_000 + index, 1_700_000_000 + index))
        dates = sorted((metadata(path)["capture"]["at"], str(path)) for path in paths)
        newest = {pathlib.Path(path) for _, path in dates[-15:]}

        done = self.prune(crowd, "--max-bundles", 15)
        self.assertEqual(self.paths(crowd.artifacts), newest)
        self.assertEqual([entry["at"] for entry in done["bundles"]], [at for at, _ in dates[:25]])

        # Exactly as many bundles fit again as the limit allows.
        self.assertEqual(crowd.run(1).bundles, 40)
        self.assertLess(newest, self.paths(crowd.artifacts))

        limit = 20_000
        done = self.prune(crowd, "--max-total-bytes", limit, "--max-age", "1d")
        sizes = [path.stat().st_size for path in self.paths(crowd.artifacts)]
        self.assertEqual(done["kept"], {"bundles": len(sizes), "bytes": sum(sizes)})
        self.assertTrue(limit - 3 * max(sizes) < sum(sizes) <= limit, sizes)
        self.assertSound(crowd)

    def test_what_cannot_be_removed(self):
        crowd = Crowd(self.directory, FAILURE_ARTIFACTS_MAX_BUNDLES=6, BUDGET_BYTES=1000)
        crowd.run(1)
        # Bundles in a folder from which files can't be removed. If root can, another user runs the command.
        place = pathlib.Path(self.directory) / "place"
        for name, paths in (("fixed", sorted(self.paths(crowd.artifacts))[:3]),
                            ("free", sorted(self.paths(crowd.artifacts))[3:])):
            (place / name).mkdir(parents=True)
            for path in paths:
                shutil.copy(path, place / name)
                (place / name / path.name).chmod(0o644)
        (place / "free" / "half.zip").write_bytes(next((place / "free").glob("*.zip")).read_bytes()[:-40])
        options = {}
        tool = pathlib.Path(self.directory) / "tool"
        if os.geteuid() == 0:
            options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            for path in (pathlib.Path(self.directory), place):
                path.chmod(0o755)
            os.chown(place / "free", NOBODY, NOBODY)
            crowd.environment["TMPDIR"] = "/tmp"
        shutil.copy(TOOL, tool)
        tool.chmod(0o755)
        (place / "fixed").chmod(0o555)
        self.addCleanup((place / "fixed").chmod, 0o755)
        result = subprocess.run(
            [tool, "prune", place, "--max-bundles", "0", "--json"], env=crowd.environment, capture_output=True,
            text=True, timeout=120, cwd=place, **options)
        self.assertEqual(result.returncode, 74, result.stderr)
        left = sorted((place / "fixed").glob("*.zip"))
        self.assertEqual(len(left), 3)
        errors = result.stderr.splitlines()
        for path in left:
            self.assertEqual(sum(line.startswith(f"error: '{path}' is not removed: ") for line in errors), 1, errors)
        # The other bundles were removed, but not the file that isn't a bundle.
        self.assertEqual([path.name for path in (place / "free").iterdir()], ["half.zip"])
        self.assertEqual(sum(line.startswith("warning: ") and "half.zip" in line for line in errors), 1, errors)
        self.assertEqual(len(errors), 4)
        done = json.loads(result.stdout)
        self.assertEqual((done["removed"]["bundles"], done["kept"]["bundles"]), (3, 3))


class Meanwhile(PruneCase):
    def test_processes_that_fail_meanwhile(self):
        crowd = Crowd(self.directory, FAILURE_ARTIFACTS_MAX_BUNDLES=10_000, BUDGET_BYTES=50_000)
        processes = crowd.start(3)
        removed = 0
        try:
            while any(process.poll() is None for process in processes):
                if not crowd.artifacts.is_dir():
                    continue
                for count in (3, 0):
                    result = crowd.tool("prune", crowd.artifacts, "--json", "--max-bundles", count)
                    if result.returncode == 66:
                        # A process whose bundle was the last one has removed the empty directory with its capture.
                        continue
                    self.assertEqual(result.returncode, 0, result.stderr)
                    removed += json.loads(result.stdout)["removed"]["bundles"]
        finally:
            for process in processes:
                process.wait(timeout=300)
        self.assertGreater(removed, 20)
        self.assertEqual(len(crowd.order), 3 * 63)
        left = len(self.paths(crowd.artifacts))
        # Each failure has left a bundle, which still exists or was removed.
        self.assertEqual(removed + left, 3 * 63)
        if left:
            self.assertSound(crowd)

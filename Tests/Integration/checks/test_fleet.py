"""Bundles of many machines: the recipe for an object store in the documentation, with DuckDB and a local S3 server; the
memory that merged directories and long lists take."""

import collections
import contextlib
import gzip
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

from harness import BUILD, ROOT, TOOL, clean_environment, fresh_directory, launch, measured
from test_report import bundle, metadata

FLEET = BUILD / "fleet" / "bin"
CHECKS = pathlib.Path(__file__).resolve().parent
ARTICLE = ROOT / "Sources/FailureArtifacts/Documentation.docc/ObjectStore.md"
TABLES = ROOT / "Scripts/ci/failures.sql"
REPOSITORY = "owner/app"
FAILURE = "RawSuite.CopyTests/testRowsInTheWAL"
SEED = int(os.environ.get("FLEET_SEED", "20261121"))


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", ARTICLE.read_text(), re.DOTALL | re.MULTILINE)


def peak(arguments, output=None):
    """Runs the tool, and returns its maximum memory size, in bytes."""
    status, size = measured([TOOL, *arguments], stdout=output or subprocess.DEVNULL)
    assert status == 0, status
    return size


class Place:
    """A checkout with a hundred commits, and an empty object store."""

    def __init__(self, contexts):
        self.directory = pathlib.Path(contexts.enter_context(tempfile.TemporaryDirectory(prefix="fleet ")))
        self.checkout = self.directory / "checkout"
        self.checkout.mkdir()
        self.git("init", "-q")
        stream = "".join(
            f"commit refs/heads/main\ncommitter A <a@example.org> {1_790_000_000 + i} +0000\ndata 2\n{i % 10}\n\n"
            for i in range(100))
        self.git("fast-import", "--quiet", input=stream)
        self.git("symbolic-ref", "HEAD", "refs/heads/main")
        self.commits = self.git("rev-list", "--reverse", "HEAD").split()
        self.server = subprocess.Popen(
            [FLEET / "python3", CHECKS / "fleet_server.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        contexts.callback(self.stop)
        self.port = int(self.server.stdout.readline())
        (self.directory / "tmp").mkdir()
        self.environment = clean_environment(
            self.directory / "tmp", AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret",
            AWS_DEFAULT_REGION="us-east-1", AWS_ENDPOINT_URL=f"http://127.0.0.1:{self.port}",
            AWS_CONFIG_FILE="/dev/null", AWS_EC2_METADATA_DISABLED="true", GITHUB_REPOSITORY=REPOSITORY)
        programs = self.directory / "programs"
        programs.mkdir()
        # The first line of `aws` can't name a Python in a folder whose name has a space.
        (programs / "aws").write_text(f"#!/bin/sh\nexec '{FLEET}/python3' '{FLEET}/aws' \"$@\"\n")
        (programs / "aws").chmod(0o755)
        self.environment["PATH"] = f"{programs}:{FLEET}:{TOOL.parent}:{self.environment['PATH']}"
        self.aws("s3", "mb", "s3://my-failures")

    def stop(self):
        self.server.communicate()

    def git(self, *arguments, **options):
        return subprocess.run(
            ["git", *arguments], cwd=self.checkout, check=True, capture_output=True, text=True, **options).stdout

    def aws(self, *arguments):
        subprocess.run(
            [self.directory / "programs" / "aws", *map(str, arguments)], env=self.environment, check=True, capture_output=True, text=True)

    def shell(self, script, directory, **variables):
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=directory, env={**self.environment, **variables},
            check=True, stdout=subprocess.PIPE, text=True).stdout


class Recipe(unittest.TestCase):
    """The steps of the article, in order."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        contexts = contextlib.ExitStack()
        cls.addClassCleanup(contexts.close)
        cls.place = Place(contexts)
        upload, cls.revisions, cls.then = blocks("sh")
        cls.upload(upload)
        cls.make_history()
        cls.ask()

    @classmethod
    def upload(cls, script):
        """Uploads a shard in which a test fails, then passes."""
        run = {"GITHUB_SHA": cls.place.commits[99], "GITHUB_RUN_ID": "4711", "SHARD": "linux-1"}
        job = cls.place.directory / "job"
        job.mkdir()
        launch(FAILURE, job, {})
        cls.place.shell(script, job, GITHUB_RUN_ATTEMPT="1", **run)
        with gzip.open(job / "bundles.jsonl.gz", "rt") as file:
            (cls.line,) = map(json.loads, file)
        again = cls.place.directory / "again"
        again.mkdir()
        cls.place.shell(script, again, GITHUB_RUN_ATTEMPT="2", **run)

    @classmethod
    def make_history(cls):
        """20,000 failures with 200 causes. Each line is made from the real one."""
        template = json.loads(json.dumps(cls.line))
        metadata = template["metadata"]
        template["bundle"] = "failure-artifacts/@bundle@.zip"
        metadata["fingerprint"] = "@fingerprint@"
        metadata["test"].update(suite="Suite@number@", name="test@number@")
        metadata["failures"][0]["message"] = "message @number@"
        text = json.dumps(template) + "\n"
        parts = re.split(r"@(\w+)@", text)
        tree = cls.place.directory / "metadata"
        chosen = random.Random(SEED)
        cls.records = []
        for index, commit in enumerate(cls.place.commits):
            for shard in ("linux-1", "linux-2"):
                # Each commit adds two causes, which stay.
                causes = chosen.choices(range(2 * index + 2), k=96)
                attempts = [causes]
                if index % 5 == 0:
                    # Some failures disappear at the second attempt, and an attempt may also pass.
                    attempts.append([] if index % 10 else [cause for cause in causes if cause % 4][:40])
                for attempt, causes in enumerate(attempts, 1):
                    file = tree / REPOSITORY / commit / f"{index}.{attempt}" / f"{shard}.jsonl.gz"
                    file.parent.mkdir(parents=True, exist_ok=True)
                    lines = []
                    for number, cause in enumerate(causes):
                        values = {"bundle": f"T.t-{number:08x}", "fingerprint": f"{cause:016x}", "number": str(cause)}
                        lines += [values[part] if place % 2 else part for place, part in enumerate(parts)]
                        cls.records.append((index, shard, attempt, cause))
                    file.write_bytes(gzip.compress("".join(lines).encode(), 1))
        cls.place.aws("s3", "cp", "--recursive", "--only-show-errors", tree, "s3://my-failures/metadata")

    @classmethod
    def ask(cls):
        cls.place.shell(cls.revisions, cls.place.checkout)
        credentials = (
            f"CREATE SECRET (TYPE s3, KEY_ID 'key', SECRET 'secret', REGION 'us-east-1', USE_SSL false, "
            f"URL_STYLE 'path', ENDPOINT '127.0.0.1:{cls.place.port}')")
        own_credentials = "CREATE SECRET (TYPE s3, PROVIDER credential_chain)"
        tables = TABLES.read_text()
        assert own_credentials in tables
        (queries,) = blocks("sql")
        statements = [
            tables.replace(own_credentials, credentials),
            *queries.replace("COMMIT", cls.place.commits[89]).split("\n\n"),
            "SELECT (SELECT count(*) FROM jobs) AS jobs, count(*) AS failures FROM failures",
            "FROM failures WHERE run = '4711'"]
        task = {"directory": str(cls.place.directory / "extensions"), "statements": statements}
        process = subprocess.run(
            [FLEET / "python3", CHECKS / "fleet_duckdb.py"], cwd=cls.place.checkout, env=cls.place.environment,
            input=json.dumps(task), capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
        results = json.loads(process.stdout)
        cls.new, cls.causes, cls.flaky, (cls.counts,), cls.real = results[-5:]

    def test_all_is_loaded(self):
        self.assertEqual(len(self.records), 20_000)
        jobs = len({record[:3] for record in self.records}) + 2 * 10
        self.assertEqual(self.counts, {"jobs": jobs + 2, "failures": len(self.records) + 1})

    def test_the_real_line_says_what_the_bundle_says(self):
        (row,) = self.real
        metadata = self.line["metadata"]
        self.assertEqual(row["repository"], REPOSITORY)
        self.assertEqual((row["suite"], row["name"]), (metadata["test"]["suite"], metadata["test"]["name"]))
        self.assertEqual(row["message"], metadata["failures"][0]["message"])
        self.assertEqual(row["fingerprint"], metadata["fingerprint"])
        self.assertEqual(row["captured"][:19], metadata["capture"]["at"][:19].replace("T", " "))

    def test_the_bundle_of_an_answer_is_a_command_away(self):
        output = self.place.shell(self.then, self.place.directory, BUNDLE=self.real[0]["bundle"])
        self.assertIn("CopyTests.testRowsInTheWAL failed", output)

    def test_what_is_new_since_a_commit(self):
        first = {}
        counts = collections.Counter()
        for index, _, _, cause in self.records:
            first[cause] = min(first.get(cause, 100), index)
            counts[f"{cause:016x}"] += 1
        fingerprints = {f"{cause:016x}": index for cause, index in first.items()}
        # The failure of the real bundle came with the last commit.
        fingerprints[self.line["metadata"]["fingerprint"]] = 99
        expected = {name: self.place.commits[index] for name, index in fingerprints.items() if index > 89}
        self.assertGreater(len(expected), 15)
        self.assertEqual({row["fingerprint"]: row["since"] for row in self.new}, expected)
        for row in self.new:
            self.assertEqual(row["bundles"], counts.get(row["fingerprint"], 1))
            self.assertIn(row["since"], row["first"])

    def test_which_failures_are_one(self):
        counts = collections.Counter(cause for *_, cause in self.records)
        runs = {cause: len({r[0] for r in self.records if r[3] == cause}) for cause, _ in counts.most_common(20)}
        found = {int(row["fingerprint"], 16): row for row in self.causes}
        self.assertEqual(len(found), 20)
        self.assertEqual(
            [row["bundles"] for row in self.causes], [count for _, count in counts.most_common(20)])
        for cause, row in found.items():
            self.assertEqual(row["bundles"], counts[cause])
            self.assertEqual(row["runs"], runs.get(cause, row["runs"]))
            self.assertEqual(row["message"], f"message {cause}")

    def test_which_tests_are_flaky(self):
        failed = {record for record in self.records}
        retried = {index for index in range(100) if index % 5 == 0}
        expected = collections.Counter(
            f"Suite{cause}.test{cause}" for index, shard, attempt, cause in failed
            if attempt == 1 and index in retried and (index, shard, 2, cause) not in failed)
        test = self.line["metadata"]["test"]
        expected[f"{test['suite']}.{test['name']}"] = 1
        self.assertGreater(len(expected), 100)
        self.assertEqual({row["test"]: row["times"] for row in self.flaky}, dict(expected))


class LongLists(unittest.TestCase):
    """Lists are streams, as the recipe requires."""

    def test_the_memory_of_a_list_does_not_grow_with_it(self):
        with tempfile.TemporaryDirectory(prefix="lists ") as name:
            directory = pathlib.Path(name)
            # The lines are so long that together they are far larger than the memory limit.
            one = bundle(directory / "one.zip", metadata(message="word " * 4000))
            many, few = directory / "many", directory / "few"
            for folder, count in ((few, 100), (many, 3000)):
                folder.mkdir()
                for number in range(count):
                    os.link(one, folder / f"T.t-{number:08x}.zip")
            small = peak(["list", "--json", few])
            with open(directory / "output", "w+") as output:
                large = peak(["list", "--json", many], output)
                output.seek(0)
                bundles = [json.loads(line)["bundle"] for line in output]
            self.assertEqual(bundles, sorted(str(path) for path in many.iterdir()))
            # Only a bundle's path stays in memory.
            self.assertLess(large - small, 12 << 20)


class Merge(unittest.TestCase):
    """Directories of many bundles. `MergeTests` has the rest."""

    def setUp(self):
        self.directory = fresh_directory(self)

    def test_the_memory_does_not_grow_with_the_bundles(self):
        def make(name, count):
            for number in range(count):
                folder = self.directory / name / f"shard-{number % 8}"
                folder.mkdir(parents=True, exist_ok=True)
                bundle(
                    folder / f"T.t-{number:08x}.zip",
                    metadata(name=f"test{number % 50}", message=f"message {number}", fingerprint=f"f{number % 60}"),
                    **{"attachments/r.txt": os.urandom(20_000)})
            return peak(["merge", self.directory / name, "-o", self.directory / f"{name}-merged"])

        few, many = make("few", 100), make("many", 1000)
        self.assertEqual(len(list((self.directory / "many-merged").glob("*.zip"))), 1000)
        self.assertLess(many, 256 << 20)
        self.assertLess(many - few, 32 << 20)

"""The statements of passing tests, and those of its last passing runs in a failing test's bundle."""

import json
import os
import random
import shutil
import signal
import struct
import subprocess
import time
import unittest
import zlib

import browser
from harness import EXECUTABLE, SUITES, TOOL, Bundle, SuiteCase, clean_environment, fresh_directory, needs, read, timeless
from test_testing import only

FEW, ENOUGH = "3", "4"
XCTEST = "RawSuite.RetriedTests/testOpen"
TESTING = only("RetriedTests", "closed")
SEED = 20261128


def versions(path):
    """Reads a file of the user by the documented layout: the lines of text and the statements of each version."""
    content = path.read_bytes()
    assert content.startswith(b"FABASE1\n"), content[:20]
    rest, found = content[8:], []
    while rest:
        packed, description, statements, checksum, _ = struct.unpack("<5Q", rest[:40])
        whole = zlib.decompress(rest[40:40 + packed])
        assert len(whole) == description + statements
        text, chunks = whole[:description].decode(), whole[description:]
        assert checksum == zlib.crc32(chunks) << 32 | zlib.adler32(chunks)
        found.append((text.splitlines(), chunks))
        rest = rest[40 + packed:]
    assert 1 <= len(found) <= 2, found
    return found


class BaselineCase(SuiteCase):
    def setUp(self):
        self.directory = fresh_directory(self)
        self.baselines = self.directory / "baselines"

    def environment(self, kilos, **variables):
        scratch = self.directory / "tmp"
        scratch.mkdir(exist_ok=True)
        artifacts = self.directory / "failure-artifacts"
        return clean_environment(scratch, **{
            "SUITE_KILOS": kilos, "FAILURE_ARTIFACTS_BASELINE": str(self.baselines),
            "FAILURE_ARTIFACTS_DIR": str(artifacts), **variables})

    def attempt(self, selection, kilos, at=SUITES, prefix=(), **variables):
        """Runs tests, as SwiftPM does in the package's directory."""
        options = (selection,) if isinstance(selection, str) else selection
        process = subprocess.run(
            [*prefix, str(EXECUTABLE), *options], cwd=at, env=self.environment(kilos, **variables), capture_output=True,
            text=True)
        found = read(process, self.directory / "failure-artifacts")
        self.assertEqual(found.status != 0, kilos != ENOUGH, found.errors)
        self.assertEqual(found.warnings, [])
        return found

    def files(self):
        return sorted(self.baselines.glob("*.baseline"))

    def entry(self, bundle):
        """The versions in a bundle: each one's first line, and its statements."""
        found = []
        for line in bundle.contents["baseline.jsonl"].decode().splitlines():
            line = json.loads(line)
            if "baseline" in line:
                found.append((line["baseline"], []))
            else:
                found[-1][1].append(line)
        return found

    def failed(self, selection):
        (bundle,) = self.attempt(selection, FEW).bundles
        self.check(bundle)
        return bundle


class Bundles(BaselineCase):
    def test_a_failing_test_has_its_last_passing_runs(self):
        for framework, selection, package in (("XCTest", XCTEST, "RawSuite"), ("Swift Testing", TESTING, "TestingSuite")):
            with self.subTest(framework):
                self.framework = framework
                shutil.rmtree(self.directory / "failure-artifacts", ignore_errors=True)
                self.assertIsNone(self.attempt(selection, ENOUGH).left)
                bundle = self.failed(selection)
                self.assertEqual(bundle.metadata["formatVersion"], "1.3")
                ((run, then),) = self.entry(bundle)
                (store,) = bundle.metadata["stores"]
                now = bundle.statements(store)
                # The passing run goes on, and the failing one ends with the assertion.
                texts = [line["sql"] for line in then][:len(now)]
                self.assertEqual([text.replace(ENOUGH, FEW) for text in texts], [line["sql"] for line in now])
                self.assertEqual([line["order"] for line in then], list(range(1, len(then) + 1)))
                self.assertEqual(
                    [line.get("changes") for line in then][:len(now) - 1], [line.get("changes") for line in now][:-1])
                self.assertEqual([line.get("source") for line in then][:len(now)], [line.get("source") for line in now])
                self.assertIn(f"Tests/{package}/", then[-1]["source"]["file"])
                self.assertEqual({line["at"] for line in then}, {run["at"]})
                # The checkout may be another user's.
                command = ["git", "-c", "safe.directory=*", "rev-parse", "HEAD"]
                head = subprocess.run(command, cwd=SUITES, check=True, capture_output=True, text=True)
                self.assertEqual(run["commit"], head.stdout.strip())

    def test_a_test_that_dies_has_them_too(self):
        self.attempt(XCTEST, ENOUGH)
        subprocess.run([str(EXECUTABLE), XCTEST], cwd=SUITES, env=self.environment("crash"), capture_output=True)
        subprocess.run(
            [str(TOOL), "sweep", str(self.directory / "failure-artifacts")], env=self.environment("crash"), check=True,
            capture_output=True)
        (path,) = (self.directory / "failure-artifacts").glob("*.zip")
        bundle = Bundle(path)
        self.assertEqual((bundle.metadata["outcome"], bundle.metadata["formatVersion"]), ("crashed", "1.3"))
        self.assertEqual(len(self.entry(bundle)), 1)

    def test_a_failure_has_its_earlier_occurrences(self):
        for kilos in ("crash", ENOUGH, "crash"):
            shutil.rmtree(self.directory / "failure-artifacts", ignore_errors=True)
            command = [str(TOOL), "run", "--", str(EXECUTABLE), XCTEST]
            subprocess.run(command, cwd=SUITES, env=self.environment(kilos), capture_output=True)
        (path,) = (self.directory / "failure-artifacts").glob("*.zip")
        seen = Bundle(path).metadata["seenBefore"]
        self.assertEqual((seen["count"], seen["passedOnRetry"]), (1, 1))
        command = ["git", "-c", "safe.directory=*", "rev-parse", "HEAD"]
        head = subprocess.run(command, cwd=SUITES, check=True, capture_output=True, text=True)
        self.assertEqual(seen["commit"], head.stdout.strip())

    def test_the_first_failure_of_a_test_has_none(self):
        bundle = self.failed(XCTEST)
        self.assertEqual(bundle.metadata["formatVersion"], "1.2")
        self.assertNotIn("baseline.jsonl", bundle.contents)
        self.assertEqual(self.files(), [])

    def test_the_commit(self):
        """Of a branch, of a packed branch, of a detached head, and of a work tree."""
        def git(*arguments):
            command = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgSign=false"]
            return subprocess.run(
                [*command, *arguments], cwd=self.directory, check=True, capture_output=True, text=True,
                env={"PATH": os.environ["PATH"], "HOME": str(self.directory)}).stdout.strip()

        def recorded():
            self.attempt(XCTEST, ENOUGH, at=place)
            (file,) = self.files()
            commit = versions(file)[0][0][0].split("\t")[1]
            file.unlink()
            return commit

        place = self.directory
        git("init", "--quiet")
        self.assertEqual(recorded(), "")
        git("commit", "--quiet", "--allow-empty", "-m", "first")
        head = git("rev-parse", "HEAD")
        self.assertEqual(recorded(), head)
        git("pack-refs", "--all")
        self.assertEqual(recorded(), head)
        git("checkout", "--quiet", "--detach")
        self.assertEqual(recorded(), head)
        place = self.directory / "work tree"
        git("worktree", "add", "--quiet", "-b", "other", str(place))
        self.assertEqual(recorded(), head)


class Flaky(BaselineCase):
    """Two runs of the same program, of which one fails."""

    framework = "Swift Testing"

    def first(self, *names):
        selection = ("--testing-library", "swift-testing", "--filter", rf"FlakyTests/({'|'.join(names)})\(")
        self.attempt(selection, ENOUGH)
        bundle = self.failed(selection)
        process = subprocess.run(
            [TOOL, "explain", "--json", bundle.path], capture_output=True, text=True, env=clean_environment("/tmp"), check=True)
        finding = json.loads(process.stdout)["findings"][0]
        self.assertEqual((finding["code"], finding["confidence"]), ("difference-from-pass", "likely"), finding)
        self.assertIn("Both runs are of the same code. This is their first difference: statement ", finding["explanation"])
        self.assertIn(f", on connection {finding['statement']['connection']}.", finding["explanation"])
        return finding

    def test_another_test_wrote_to_the_same_store(self):
        finding = self.first("reader", "cleaner")
        self.assertEqual(finding["title"], "SELECT FROM fruit went through another number of rows than when this test passed")
        self.assertRegex(
            finding["explanation"],
            r"the content differed\.\nMeanwhile, FlakyTests\.cleaner wrote to this table: DELETE FROM fruit "
            r"\(connection \d+, Tests/TestingSuite/FlakyTests\.swift:\d+\)\.")

    def test_rows_come_in_another_order(self):
        finding = self.first("unordered")
        self.assertEqual(finding["title"], "INSERT INTO fruit ran later than when this test passed")
        self.assertEqual(finding["then"].split(" (")[0], "after «CREATE TABLE \"fruit\"")
        self.assertRegex(finding["now"], "^after «INSERT INTO .*'plum'")
        self.assertIn("rows without ORDER BY", finding["explanation"])
        self.assertNotIn("Meanwhile", finding["explanation"])


@needs(browser.executable(), "Chromium")
class Page(BaselineCase):
    """The difference from the passing run, on the page."""

    def test_then_and_now_are_beside_the_timeline(self):
        selection = "GRDBSuite.ComparedRunTests/testProperty"
        for run in ("", "wrong"):
            subprocess.run(
                [EXECUTABLE, selection], cwd=SUITES, env=self.environment(ENOUGH, COMPARED_RUN=run), capture_output=True)
        artifacts = self.directory / "failure-artifacts"
        subprocess.run(
            [TOOL, "report", artifacts], check=True, capture_output=True, env=clean_environment("/tmp"), cwd=SUITES)
        with browser.page() as page:
            for width in (390, 1280):
                page.show(width, 900, "light")
                page.open("about:blank")
                page.open((artifacts / "report.html").as_uri())
                page.wait("!!document.querySelector('#f1 .panel .comparison')")
                for part in (".findings", ".panel"):
                    # It has no text as long as it isn't laid out.
                    page.wait(f"!!document.querySelector('#f1 {part} .comparison').innerText")
                    texts = page.run(f"[...document.querySelectorAll('#f1 {part} .comparison > *')].map(e => e.innerText)")
                    self.assertEqual(texts, [
                        "then", "UPDATE product SET stock = stock - 2 WHERE id = 2",
                        "now", "UPDATE product SET stock = stock - 5 WHERE id = 2"])
                    marks = page.run(f"[...document.querySelectorAll('#f1 {part} .comparison mark')].map(e => e.innerText)")
                    self.assertEqual(marks, ["2", "5"])
                # The lines of the assertion are beside those of the statement.
                lines = page.run("[...document.querySelectorAll('#f1 .excerpt .failing')].map(e => e.innerText)")
                self.assertEqual(len(lines), 2, lines)
                self.assertRegex(lines[0], "XCTAssert")
                self.assertRegex(lines[1], "UPDATE product|execute")
                # It isn't there at another step.
                page.run("document.querySelector('#f1 .steps .step:not([aria-current])').click()")
                page.wait("!document.querySelector('#f1 .panel .comparison')")
                self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width)
            self.assertEqual(page.complaints, [])


class Places(BaselineCase):
    def run_in(self, directory, **variables):
        scratch = self.directory / "scratch"
        scratch.mkdir(exist_ok=True)
        environment = clean_environment(scratch, SUITE_KILOS=ENOUGH, **variables)
        environment.pop("FAILURE_ARTIFACTS_BASELINE")
        subprocess.run([str(EXECUTABLE), XCTEST], cwd=directory, env=environment, check=True, capture_output=True)

    def test_the_standard_place(self):
        package, caches, home = (self.directory / name for name in ("package", "caches", "home"))
        (package / ".build").mkdir(parents=True)
        self.run_in(package, XDG_CACHE_HOME=str(caches), HOME=str(home))
        # Nothing new is in the working tree, or in the user's directory.
        self.assertEqual([path.name for path in package.iterdir()], [".build"])
        self.assertEqual(len(list((package / ".build" / "failure-artifacts-baseline").iterdir())), 1)
        self.assertFalse(caches.exists() or home.exists())
        shutil.rmtree(package / ".build")
        for variables, place in (({"XDG_CACHE_HOME": str(caches)}, caches), ({}, home / ".cache")):
            self.run_in(package, HOME=str(home), **variables)
            self.assertEqual(list(package.iterdir()), [])
            self.assertEqual(len(list((place / "failure-artifacts").glob("baseline-*/*.baseline"))), 1)

    def test_shards_are_joined_by_copying(self):
        """A file has one test, and the newer one stays, as the article on CI says."""
        shards = [self.directory / name for name in ("first", "second")]
        for selection, at in ((XCTEST, shards[0]), (XCTEST, shards[1]), (TESTING, shards[0])):
            self.attempt(selection, ENOUGH, FAILURE_ARTIFACTS_BASELINE=str(at))
        newest = {path.name: path.stat().st_mtime_ns for shard in shards for path in sorted(
            shard.iterdir(), key=lambda path: path.stat().st_mtime_ns)}
        self.baselines.mkdir()
        files = sorted(shards[1].iterdir()) + sorted(shards[0].iterdir())
        subprocess.run(["cp", "-pu", *files, self.baselines], check=True)
        self.assertEqual({path.name: path.stat().st_mtime_ns for path in self.files()}, newest)
        self.assertEqual(len(newest), 2)
        for self.framework, selection in (("XCTest", XCTEST), ("Swift Testing", TESTING)):
            shutil.rmtree(self.directory / "failure-artifacts", ignore_errors=True)
            self.assertEqual(len(self.entry(self.failed(selection))), 1)

    def test_a_passing_run_prints_the_same(self):
        on = self.attempt(XCTEST, ENOUGH)
        off = self.attempt(XCTEST, ENOUGH, FAILURE_ARTIFACTS="off")
        self.assertEqual(timeless(on.output), timeless(off.output))
        self.assertEqual((on.errors, on.left), (off.errors, off.left))

    def test_with_redactions_there_is_none(self):
        rules = self.directory / "rules.json"
        rules.write_text('{"tables": ["fruit"]}')
        self.attempt(XCTEST, ENOUGH, FAILURE_ARTIFACTS_REDACTIONS=str(rules))
        self.assertEqual(self.files(), [])

    def test_lines_are_not_looked_up_for_each_process(self):
        """`swift test --parallel` starts a process for each test. `run` looks them all up at its end."""
        def lines():
            found = set()
            for path in self.files():
                ((text, _),) = versions(path)
                found |= {field for stack in text[1:] for field in stack.split("\t") if field.endswith(".swift")}
            return found

        parallel = ["sh", "-c", '"$@"; exit $?', "--parallel"]
        self.attempt("RawSuite.RetriedTests", ENOUGH, prefix=parallel)
        self.assertEqual(lines(), set())
        self.attempt("RawSuite.RetriedTests", ENOUGH, prefix=[str(TOOL), "run", "--", *parallel])
        completed = lines()
        self.assertEqual(completed, {"Tests/RawSuite/PassingTests.swift", "Tests/RawSuite/Database.swift"})
        shutil.rmtree(self.baselines)
        self.attempt("RawSuite.RetriedTests", ENOUGH)
        self.assertEqual(lines(), completed)


class Faults(BaselineCase):
    def test_a_file_in_place_of_the_directory(self):
        self.baselines.write_bytes(b"")
        self.attempt(XCTEST, ENOUGH)
        self.failed(XCTEST)
        self.assertEqual(self.baselines.read_bytes(), b"")

    def test_a_full_disk(self):
        script = 'mount -t tmpfs -o size=4k none "$1" && head -c 4096 /dev/zero >"$1/full" 2>/dev/null; shift; exec "$@"'
        prefix = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        if subprocess.run([*prefix, "true"], capture_output=True).returncode != 0:
            self.skipTest("No namespace can be created here.")
        self.baselines.mkdir()
        command = [*prefix, "sh", "-c", script, "sh", str(self.baselines)]
        self.assertEqual(self.attempt(XCTEST, ENOUGH, prefix=command).errors, "")

    def test_a_killed_process_harms_no_file(self):
        """It loses its own baseline at most."""
        self.attempt(XCTEST, ENOUGH)
        (file,) = self.files()
        before = versions(file)
        dice = random.Random(SEED)
        for _ in range(20):
            process = subprocess.Popen(
                [str(EXECUTABLE), "RawSuite.RetriedTests"], cwd=SUITES, env=self.environment(ENOUGH),
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(dice.uniform(0, 0.4))
            process.send_signal(signal.SIGKILL)
            process.wait()
            for path in self.files():
                if path.suffix == ".baseline":
                    versions(path)
        self.assertEqual(versions(file)[0][1], before[0][1])

    def test_many_processes_at_once(self):
        processes = [
            subprocess.Popen(
                [str(EXECUTABLE), "RawSuite.RetriedTests"], cwd=SUITES, env=self.environment(ENOUGH),
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for _ in range(64)]
        for process in processes:
            _, errors = process.communicate(timeout=120)
            self.assertEqual((process.returncode, errors), (0, b""))
        names = [path.name for path in self.files()]
        self.assertTrue(all(name.endswith(".baseline") for name in names), names)
        self.assertEqual(len(names), 4)
        for path in self.files():
            versions(path)
        self.failed(XCTEST)


if __name__ == "__main__":
    unittest.main()

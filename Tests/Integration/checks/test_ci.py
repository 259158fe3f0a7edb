"""CI services: JUnit XML of whole runs, GitHub's action, GitLab's template, and the recipes of the article.

The commands come from the files themselves. `swift` is a wrapper that runs the real one on the package to test. Programs
that only a CI service has, such as `buildkite-agent`, are stand-ins that record their arguments.
"""

import functools
import hashlib
import http.server
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
import zipfile

import browser
import harness
import junit_rules
import workflow
from harness import EXECUTABLE, ONE_BUILD, ROOT, SCRATCH, SUITES, TOOL, SuiteCase, clean_environment

import yaml

ARTICLE = ROOT / "Sources/FailureArtifacts/Documentation.docc/ContinuousIntegration.md"
ACTION = ROOT / "Scripts/github-action/action.yml"
TEMPLATE = ROOT / "Scripts/gitlab/failure-artifacts.yml"

# The stems of the bundles that CISuite leaves in a parallel run.
FAILING = [
    "CICrashTests.testCrashes", "CIModernTests.fails", "CIModernTests.isRipe", "CITests.testFails",
    "CITests.testThrows",
]

# The variable that identifies each CI service, and those that identify a run, by their names in the metadata.
SERVICES = {
    "GitHub Actions": {
        "GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "1658821493", "GITHUB_RUN_ATTEMPT": "3", "GITHUB_JOB": "test",
        "GITHUB_SHA": "ffac537e6cbbf934b08745a378932722df287a53", "GITHUB_REPOSITORY": "octo/app",
        "GITHUB_SERVER_URL": "https://github.example",
    },
    "GitLab CI": {
        "GITLAB_CI": "true", "CI_PIPELINE_ID": "11", "CI_JOB_ID": "12",
        "CI_JOB_URL": "https://gitlab.example/g/app/-/jobs/12", "CI_JOB_NAME": "test 1/2", "CI_NODE_INDEX": "1",
        "CI_COMMIT_SHA": "1ecfd275763eff1d6b4844ea3168962458c9f27a", "CI_PROJECT_URL": "https://gitlab.example/g/app",
    },
    "Jenkins": {
        "JENKINS_URL": "https://jenkins.example/", "BUILD_TAG": "jenkins-app-7",
        "BUILD_URL": "https://jenkins.example/job/app/7/", "GIT_COMMIT": "1ecfd275763eff1d6b4844ea3168962458c9f27a",
    },
    "Buildkite": {
        "BUILDKITE": "true", "BUILDKITE_BUILD_URL": "https://buildkite.example/o/app/builds/7",
        "BUILDKITE_JOB_ID": "e44f9784-e20e-4b93-a21d-f41fd5869db9", "BUILDKITE_PARALLEL_JOB": "0",
        "BUILDKITE_RETRY_COUNT": "1", "BUILDKITE_COMMIT": "83a20ec058e2fb00e7fa4558c4c6e81e2dcf253d",
    },
    "CircleCI": {
        "CIRCLECI": "true", "CIRCLE_WORKFLOW_ID": "48f2bd3a-5a8b-4a0e-8c7a-ffb5d4c4f1a1",
        "CIRCLE_BUILD_URL": "https://circleci.example/gh/o/app/7", "CIRCLE_NODE_INDEX": "0",
        "CIRCLE_SHA1": "83a20ec058e2fb00e7fa4558c4c6e81e2dcf253d",
    },
    "Azure Pipelines": {
        "TF_BUILD": "True", "BUILD_BUILDID": "7", "SYSTEM_JOBID": "12f1170f-54f2-53f3-20dd-22fc7dff55f9",
        "SYSTEM_JOBATTEMPT": "1", "BUILD_SOURCEVERSION": "83a20ec058e2fb00e7fa4558c4c6e81e2dcf253d",
        "BUILD_REPOSITORY_URI": "https://azure.example/o/app/_git/app",
    },
    "Bitrise": {
        "BITRISE_IO": "true", "BITRISE_BUILD_SLUG": "9d8f8a8b", "BITRISE_BUILD_URL": "https://bitrise.example/build/9d8f",
        "BITRISE_GIT_COMMIT": "83a20ec058e2fb00e7fa4558c4c6e81e2dcf253d",
    },
    "Bitbucket Pipelines": {
        "BITBUCKET_PIPELINE_UUID": "{6fbb1b7b-1b1a-4b0a-8b3b-1b1a4b0a8b3b}", "BITBUCKET_BUILD_NUMBER": "7",
        "BITBUCKET_STEP_UUID": "{0e1d2c3b}", "BITBUCKET_PARALLEL_STEP": "0",
        "BITBUCKET_COMMIT": "83a20ec058e2fb00e7fa4558c4c6e81e2dcf253d",
        "BITBUCKET_GIT_HTTP_ORIGIN": "http://bitbucket.example/w/app",
    },
    "Xcode Cloud": {
        "CI_WORKSPACE": "/Volumes/workspace", "CI_BUILD_ID": "9d8f8a8b-1111", "CI_BUILD_NUMBER": "7",
        "CI_WORKFLOW": "Tests", "CI_COMMIT": "83a20ec058e2fb00e7fa4558c4c6e81e2dcf253d",
    },
}
# The packages that the recipes install.
PREPARATION = ["update", "install -y libsqlite3-dev zlib1g-dev pkg-config"]
# The variables that identify a CI service but not a run.
MARKERS = ["GITHUB_ACTIONS", "GITLAB_CI", "JENKINS_URL", "BUILDKITE", "CIRCLECI", "TF_BUILD", "BITRISE_IO", "CI_WORKSPACE"]


def setUpModule():
    """Creates the directory for marks. The first command that needs the tool builds it, and a mark records that."""
    Checkout.marks = tempfile.TemporaryDirectory()


def tearDownModule():
    Checkout.marks.cleanup()


class Checkout:
    """A directory in which a CI service's commands run as if the package were there."""

    marks = None

    def __init__(self, directory, service=None, tests=r"CISuite\.", **variables):
        self.directory = pathlib.Path(directory).resolve()
        self.bin = self.directory.parent / (self.directory.name + "-bin")
        for place in (self.directory, self.bin, self.bin / "tmp"):
            place.mkdir()
        self.tests = tests
        self.stand_in("swift", self.swift())
        # The machine already has the packages that the recipes install first.
        self.stand_in("apt-get", f"printf '%s\\n' \"$*\" >>{shlex.quote(str(self.bin))}/apt-get.words\n")
        environment = clean_environment(self.bin / "tmp", **SERVICES.get(service, {}), **variables)
        # Every CI service has secrets.
        environment["SECRET_TOKEN"] = "hunter2"
        self.environment = {**environment, "PATH": f"{self.bin}:{environment['PATH']}"}

    def swift(self, tests=None):
        """The real one, working on the suites, which are already built. The tool is really built once.

        With `tests`, `swift test` starts only these at once, without SwiftPM.
        """
        real = shutil.which("swift")
        test = f"'{EXECUTABLE}' {tests}" if tests else (
            f'{real} test {{}} --skip-build --filter {shlex.quote(self.tests)} "$@"')
        places = f"--package-path {shlex.quote(str(SUITES))} --scratch-path {shlex.quote(str(SCRATCH))}"
        mark = shlex.quote(os.path.join(Checkout.marks.name, "built"))
        built = shlex.quote(str(self.bin / "built"))
        # Swift Build looks for its toolchain where the first `swift` in PATH is.
        return f"""\
            PATH={shlex.quote(os.environ["PATH"])}
            export FAILURE_ARTIFACTS_STRICT=1
            command=$1; shift
            case $command in
            build)
                if [ "$1" = --product ]; then touch {built}; fi
                if [ "$1" = --product ] && [ -e {mark} ]; then exit 0; fi
                TMPDIR={shlex.quote(ONE_BUILD["TMPDIR"])} {real} build {places} --disable-build-manifest-caching "$@" || exit
                if [ "$1" = --product ]; then touch {mark}; fi ;;
            test) exec {test.format(places)} ;;
            *) exit 64 ;;
            esac
            """

    def stand_in(self, name, script):
        path = self.bin / name
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)

    def run(self, *command, **options):
        return subprocess.run(
            command, cwd=options.pop("cwd", self.directory), env={**self.environment, **options.pop("env", {})},
            capture_output=True, text=True, encoding="utf-8", errors="surrogateescape", timeout=600, **options)

    def script(self, text, *shell):
        return self.run(*shell, "-c", text)

    @property
    def installed(self):
        """The arguments of each call of `apt-get`."""
        return (self.bin / "apt-get.words").read_text().splitlines()

    @property
    def built(self):
        """True if the tool was asked for."""
        return (self.bin / "built").exists()

    @property
    def artifacts(self):
        return self.directory / "failure-artifacts"

    def bundles(self):
        found = [harness.Bundle(path) for path in sorted(self.artifacts.glob("*.zip"))]
        for bundle in found:
            harness.check_with_tools(bundle)
        return found


class CICase(SuiteCase):
    def checkout(self, service=None, **variables):
        return Checkout(harness.fresh_directory(self) / "app", service, **variables)

    def check_bundles(self, place, service, stems=FAILING):
        bundles = place.bundles()
        self.assertEqual(sorted(bundle.stem for bundle in bundles), stems)
        identity = {name: value for name, value in SERVICES.get(service, {}).items() if name not in MARKERS}
        for bundle in bundles:
            self.framework = bundle.metadata["test"]["framework"]
            self.check(bundle, outcome=bundle.metadata["outcome"])
            self.assertEqual(len(bundle.metadata["stores"]), 1)
            if service:
                self.assertEqual(
                    bundle.metadata["environment"]["ci"], {"service": service, "variables": identity})
            else:
                self.assertNotIn("ci", bundle.metadata["environment"])
            self.assertNotIn("hunter2", bundle.contents["metadata.json"].decode())
        return bundles

    def check_page(self, place):
        page = browser.page_text(place.artifacts / "report.html")
        for stem in FAILING:
            self.assertIn(stem.split("-")[0], page)
        # The bundles are downloaded together, so that commands must not use their old paths.
        for path in place.artifacts.glob("*.zip"):
            self.assertIn(f"\"failure-artifacts open {path.name}\"", page)
        self.assertNotIn(str(place.artifacts), page)

    def check_results(self, place, file="junit.xml", base=None):
        """Checks all tests' results of a parallel run. Each bundle belongs to its test and is at the path given there."""
        text = (place.directory / file).read_text()
        self.assertEqual(junit_rules.problems(text), [])
        self.assertEqual(
            junit_rules.results(text), {
                "CITests/testPasses": ["passed"], "CITests/testFails": ["failure"],
                "CITests/testThrows": ["failure"], "CITests/testIsFlaky": ["passed"],
                # SwiftPM prints nothing about it, and its report can't express it.
                "CITests/testIsSkipped": ["passed"],
                "CICrashTests/testCrashes": ["error"],
                "CIModernTests/passes()": ["passed"], "CIModernTests/fails()": ["failure"],
                "CIModernTests/isRipe(_:)": ["failure"], "CIModernTests/isDisabled()": ["skipped"],
                "CIModernTests/isKnown()": ["passed"], "CIModernTests.Inner/passes()": ["passed"],
            })
        attachments = {name: files for name, files in junit_rules.attachments(text).items() if files}
        stems = {
            name: [harness.BUNDLE_NAME.fullmatch(pathlib.Path(file).name)["stem"] for file in files]
            for name, files in attachments.items()
        }
        self.assertEqual(
            stems, {
                "testCrashes": [FAILING[0]], "fails()": [FAILING[1]], "isRipe(_:)": [FAILING[2]],
                "testFails": [FAILING[3]], "testThrows": [FAILING[4]],
            })
        for files in attachments.values():
            for file in files:
                self.assertFalse(pathlib.Path(file).is_absolute())
                self.assertTrue(((base or place.directory) / file).is_file(), file)
        return text


class Results(CICase):
    """`run --junit` with real tests."""

    def results(self, place, *command, status=1, options=()):
        process = place.run(TOOL, "run", *options, "--junit", "junit.xml", "--", *map(str, command))
        self.assertEqual(process.returncode, status, process.stderr)
        text = (place.directory / "junit.xml").read_text()
        self.assertEqual(junit_rules.problems(text), [])
        return text, process

    def test_one_process_with_both_frameworks(self):
        place = self.checkout(tests=r"CISuite\.CI(Modern)?Tests")
        text, process = self.results(place, "swift", "test")
        self.assertEqual(
            junit_rules.results(text), {
                "CITests/testFails": ["failure"], "CITests/testIsFlaky": ["passed"],
                "CITests/testIsSkipped": ["skipped"], "CITests/testPasses": ["passed"],
                "CITests/testThrows": ["failure"], "CIModernTests/passes()": ["passed"],
                "CIModernTests/fails()": ["failure"], "CIModernTests/isRipe(_:)": ["failure"],
                "CIModernTests/isDisabled()": ["skipped"], "CIModernTests/isKnown()": ["passed"],
                "CIModernTests.Inner/passes()": ["passed"],
            })
        cases = {case.get("name"): case for case in junit_rules.tree.fromstring(text).iter("testcase")}
        failure = cases["testFails"].find("failure")
        # The message is complete, like in the bundle, without the lines that follow it in the log. XML can't
        # represent the last three characters.
        message = (
            'XCTAssertEqual failed: ("1") is not equal to ("2") - <&> ]]> "quoted" ``` 100%\n'
            "::set-output name=stolen::yes\n"
            "##[error]stolen ##vso[task.complete result=Succeeded]stolen \\u{1b}[31m\\u{0}\\u{ffff}")
        file = str(SUITES / "Tests/CISuite/CITests.swift")
        lines = [store["line"] for bundle in place.bundles() if bundle.stem == "CITests.testFails"
                 for store in bundle.metadata["failures"]]
        self.assertEqual(
            failure.text, f"{file}:{lines[0]}: {message}\n{file}:{lines[1]}: failed - a second one")
        self.assertEqual(failure.get("message"), message.splitlines()[0])
        self.assertEqual(failure.get("type"), "XCTAssertEqual")
        self.assertEqual(cases["testIsSkipped"].find("skipped").get("message"), "not on <this> machine")
        self.assertEqual(cases["isDisabled()"].find("skipped").get("message"), "not now")
        self.assertIn("of <Swift> Testing", cases["fails()"].findtext("failure"))
        for name, case in cases.items():
            if name != "isDisabled()":
                self.assertRegex(case.get("time"), r"^\d+\.\d{3}$")

    def test_parallel(self):
        place = self.checkout()
        self.results(place, "swift", "test", "--parallel")
        self.check_results(place)
        self.check_bundles(place, None)

    def test_failures_only(self):
        """Of passing tests, nothing is printed; exit status, bundles and results are the same."""
        place = self.checkout(tests=r"CISuite\.CI(Modern)?Tests")
        command = ("swift", "test")
        for options, variables in (["--failures-only"], {}), ([], {"AI_AGENT": "x"}):
            place.environment.update(variables)
            text, process = self.results(place, *command, options=options)
            self.assertEqual(len(junit_rules.results(text)), 11)
            lines = process.stdout.splitlines()
            self.assertEqual(lines[-1], "failure-artifacts: 11 tests: 4 failed, 5 passed, 2 skipped, 4 bundles in failure-artifacts")
            for word in ("testPasses", "passes()", "isKnown", "isDisabled", "no end of line", "Executed"):
                self.assertNotIn(word, process.stdout)
            for name in ("CITests.testFails", "CITests.testThrows"):
                self.assertEqual(len(re.findall(rf"^Test Case '{name}' failed", process.stdout, re.MULTILINE)), 1)
            for name in ("fails()", "isRipe(_:)"):
                self.assertEqual(len(re.findall(rf"^✘ Test {re.escape(name)} .*failed after", process.stdout, re.MULTILINE)), 1)
            for heading in ("CITests.testFails", "CITests.testThrows"):
                place_of_test = process.stdout.index(f"Test Case '{heading}' failed")
                self.assertIn(heading, process.stdout[place_of_test:].split("# Failure of ")[1].split("\n")[0])
        # A green run has one line.
        place.stand_in("swift", place.swift("CISuite.CITests/testPasses,CISuite.CITests/testIsSkipped"))
        process = place.run(TOOL, "run", "--", *command)
        self.assertEqual((process.returncode, process.stdout, process.stderr), (
            0, "failure-artifacts: 2 tests: 0 failed, 1 passed, 1 skipped\n", ""))
        # A build's errors are passed on.
        place.stand_in("swift", "echo 'A.swift:1:1: error: no'; echo 'error: fatalError' >&2; exit 1")
        process = place.run(TOOL, "run", "--", *command)
        self.assertEqual((process.returncode, process.stdout, process.stderr), (
            1, "A.swift:1:1: error: no\n", "error: fatalError\n"))

    def test_attempts_are_told_apart(self):
        place = self.checkout(CI_SUITE_FLAKY=str(pathlib.Path(tempfile.mkdtemp()) / "flag"))
        self.addCleanup(shutil.rmtree, pathlib.Path(place.environment["CI_SUITE_FLAKY"]).parent)
        command = f"'{EXECUTABLE}' CISuite.CITests/testIsFlaky,CISuite.CITests/testThrows"
        text, _ = self.results(place, "sh", "-c", f"{command} || {command} || {command}")
        self.assertEqual(
            junit_rules.results(text), {
                "CITests/testIsFlaky": ["flakyFailure"],
                "CITests/testThrows": ["failure", "rerunFailure", "rerunFailure"],
            })
        attachments = junit_rules.attachments(text)
        self.assertEqual([len(attachments[name]) for name in ("testIsFlaky", "testThrows")], [1, 3])
        self.assertEqual(len(set(attachments["testThrows"])), 3)


class Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


class GitHub(CICase):
    def action(self, place, **inputs):
        return workflow.Action(ACTION, place, inputs)

    def place(self, **variables):
        place = self.checkout("GitHub Actions", **variables)
        step_summary = place.bin / "step summary.md"
        step_summary.touch()
        (place.bin / "tmp").mkdir(exist_ok=True)
        place.environment.update({
            "GITHUB_STEP_SUMMARY": str(step_summary), "GITHUB_WORKSPACE": str(place.directory),
            "RUNNER_TEMP": str(place.bin / "tmp"), "GITHUB_ACTION_PATH": str(ACTION.parent),
        })
        place.step_summary = step_summary
        # The version of the action, and the entries of GitHub's cache.
        place.action_ref, place.cache = "main", {}
        place.event, place.ref = "pull_request", "refs/pull/7/merge"
        place.number, place.head, place.token = "", "", ""
        place.environment["HOME"] = str(place.bin / "home")
        (place.bin / "home").mkdir()
        return place

    def test_failing_tests(self):
        place = self.place()
        action = self.action(place, junit="results/junit.xml", timeout="10m")
        action.run()
        self.assertEqual(
            action.outcomes,
            {"release": "success", "cached": "success", "tool": "success", "kept": "success", "baselines": "success",
             "passed": "success", "tests": "failure", "passing": "skipped",
             "bundles": "success", "upload": "success", "page": "success", "where": "success", "comment": "skipped"})
        self.check_bundles(place, "GitHub Actions")
        self.check_page(place)
        self.check_results(place, "results/junit.xml")
        self.assertEqual(
            action.outputs(), {"bundles": "5", "artifact-url": workflow.URL, "page-url": workflow.PAGE_URL})
        upload, page = action.uploads
        # The names of the page's artifacts differ for each job and attempt, too.
        self.assertEqual(page["name"], "failure-artifacts-test-0-3.html")
        self.assertEqual(page["content"], (place.artifacts / "report.html").read_bytes())
        self.assertEqual(upload["name"], "failure-artifacts-test-0-3")
        self.assertEqual(
            sorted(upload["files"]), sorted([*(bundle.path.name for bundle in place.bundles()), "report.html"]))
        # The runner has obeyed only this tool's commands, although the messages and the log contained others.
        self.assertIn("::set-output name=stolen::yes", action.log)
        self.assertIn("##[error]stolen", action.log)
        self.assertEqual({command for command, _, _ in action.obeyed}, {"error"})
        titles = sorted(properties["title"] for _, properties, _ in action.obeyed)
        self.assertEqual(
            titles, [
                "CICrashTests.testCrashes crashed", "CIModernTests.fails failed", 'CIModernTests.isRipe(_:)("rotten") failed',
                "CITests.testFails failed", "CITests.testThrows failed",
            ])
        for _, properties, data in action.obeyed:
            if "testThrows" in properties["title"]:
                self.assertNotIn("file", properties)
                self.assertNotIn("line", properties)
                self.assertEqual(data, 'threw error "Broken()"')
            else:
                self.assertTrue(properties["file"].endswith("CITests.swift"), properties)
                self.assertGreater(int(properties["line"]), 0)
            if "testFails" in properties["title"]:
                self.assertIn("\n::set-output name=stolen::yes\n", data)
        summary = place.step_summary.read_text()
        self.assertTrue(summary.startswith("## 5 failed tests\n"), summary[:100])
        self.assertIn(f"[failure-artifacts-test-0-3]({workflow.URL})", summary)
        self.assertIn(f"[Open the page about all failures]({workflow.PAGE_URL})", summary)
        self.assertNotIn("\x1b", summary)

    def test_tests_that_pass(self):
        place = self.place()
        place.stand_in("swift", place.swift("CISuite.CITests/testPasses,CISuite.CITests/testIsSkipped"))
        action = self.action(place)
        action.run()
        self.assertEqual(
            action.outcomes,
            {"release": "success", "cached": "success", "tool": "success", "kept": "success", "baselines": "success",
             "passed": "success", "tests": "success", "passing": "skipped",
             "bundles": "success", "upload": "skipped", "page": "skipped", "where": "skipped", "comment": "skipped"})
        self.assertEqual(action.outputs(), {"bundles": "0", "artifact-url": "", "page-url": ""})
        self.assertEqual(list(place.directory.iterdir()), [])
        self.assertEqual(place.step_summary.read_text(), "")
        self.assertEqual(action.obeyed, [])

    def test_baselines_are_kept_on_the_default_branch(self):
        cache = {}
        runs = [
            ("pull_request", "refs/pull/7/merge"), ("pull_request_target", "refs/heads/main"), ("push", "refs/heads/other"),
            ("push", "refs/heads/main"), ("push", "refs/heads/main"), ("pull_request", "refs/pull/7/merge")]
        for number, (event, ref) in enumerate(runs):
            with self.subTest(number):
                place = self.place()
                place.environment["GITHUB_SHA"] = f"sha{number}"
                place.environment.pop("FAILURE_ARTIFACTS_BASELINE")
                place.stand_in("swift", place.swift("CISuite.CITests/testPasses"))
                place.event, place.ref, place.cache = event, ref, cache
                action = self.action(place)
                restored = place.bin / "restored"
                action.before["tests"] = lambda script: f"ls ~/.cache/failure-artifacts-baseline >'{restored}' || true\n{script}"
                kept = sum("baseline" in key for key in cache)
                action.run()
                is_kept = (event, ref) == ("push", "refs/heads/main")
                self.assertEqual(action.outcomes["passing"], "success" if is_kept else "skipped", action.log)
                self.assertEqual(sum("baseline" in key for key in cache), kept + is_kept)
                # What the default branch has kept before.
                self.assertEqual(len(restored.read_text().splitlines()), 1 if number > 3 else 0)
                self.assertEqual(len(list((place.bin / "home/.cache/failure-artifacts-baseline").iterdir())), 1)

    def words_of_swift(self, place):
        """Replaces `swift` by a program that records its arguments and has the tool. Returns the file of its words."""
        words = place.bin / "swift.words"
        words.touch()
        place.stand_in("swift", f"""\
            printf '%s\\n' "$*" >>{shlex.quote(str(words))}
            case $* in *--show-bin-path) echo {shlex.quote(str(TOOL.parent))} ;; esac
            """)
        return words

    def test_the_tool_is_cached(self):
        builds = []
        cache = {}
        for manifest, image in ("one", "noble"), ("one", "noble"), ("another", "noble"), ("one", "bookworm"):
            place = self.place()
            words = self.words_of_swift(place)
            (place.directory / "Package.swift").write_text(manifest)
            (place.bin / "os-release").write_text(image)
            place.cache = cache
            action = self.action(place, command="true")
            action.before["release"] = lambda script: script.replace("/etc/os-release", f"'{place.bin}/os-release'")
            action.run()
            self.assertEqual(action.outcomes["tests"], "success", action.log)
            builds.append("build --product failure-artifacts" in words.read_text().splitlines())
            self.assertEqual(action.outcomes["kept"], "success" if builds[-1] else "skipped")
            cache = place.cache
        self.assertEqual(builds, [True, False, True, True])
        self.assertEqual(len(cache), 3)

    def released(self, change=lambda directory, name: None, ref="v1.2.3", tags=""):
        """Runs a version of the action. A server has the release v1.2.3. Returns the action, and whether it was taken."""
        place = self.place()
        words = self.words_of_swift(place)
        place.action_ref = ref
        references = place.bin / "web/octo/failure-artifacts/info/refs"
        references.parent.mkdir(parents=True)
        references.write_text(tags)
        system = subprocess.run(
            "uname -s | tr '[:upper:]' '[:lower:]'; uname -m", shell=True, check=True, capture_output=True, text=True)
        name = "failure-artifacts-1.2.3-" + "-".join(system.stdout.split())
        directory = place.bin / "web/octo/failure-artifacts/releases/download/v1.2.3"
        program = place.bin / name / "bin/failure-artifacts"
        for folder in (directory, program.parent):
            folder.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho released >>'{place.bin}/released'\nexec '{TOOL}' \"$@\"\n")
        program.chmod(0o755)
        subprocess.run(["tar", "-czf", directory / f"{name}.tar.gz", "-C", place.bin, name], check=True)
        checksum = hashlib.sha256((directory / f"{name}.tar.gz").read_bytes()).hexdigest()
        (directory / "failure-artifacts-1.2.3.sha256").write_text(
            f"{'0' * 64}  failure-artifacts-1.2.3.artifactbundle.zip\n{checksum}  {name}.tar.gz\n")
        change(directory, name)
        handler = functools.partial(Silent, directory=place.bin / "web")
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            place.environment["GITHUB_SERVER_URL"] = f"http://127.0.0.1:{server.server_port}"
            action = self.action(place, command="true")
            action.run()
            server.shutdown()
        self.assertEqual(action.outcomes["tests"], "success", action.log)
        is_released = (place.bin / "released").exists()
        self.assertNotEqual(is_released, "build --product failure-artifacts" in words.read_text().splitlines())
        return action, is_released

    def test_a_release_is_downloaded(self):
        action, is_released = self.released()
        self.assertTrue(is_released, action.log)
        self.assertEqual((action.outcomes["cached"], action.outcomes["kept"]), ("skipped", "skipped"))

    def test_the_commit_of_a_release(self):
        """A lightweight tag, and an annotated one, whose own object isn't the commit."""
        commit, other, tag = "ab" * 20, "cd" * 20, "ef" * 20
        lightweight = f"{other}\trefs/tags/v1.2.2\n{commit}\trefs/tags/v1.2.3\n"
        annotated = f"{commit}\trefs/tags/other\n{tag}\trefs/tags/v1.2.3\n{commit}\trefs/tags/v1.2.3^{{}}\n"
        for tags, is_expected in (lightweight, True), (annotated, True), (lightweight.replace(commit, tag), False), ("", False):
            with self.subTest(tags):
                action, is_released = self.released(ref=commit, tags=tags)
                self.assertEqual(is_released, is_expected, action.log)

    def test_a_release_that_is_not_what_it_should_be(self):
        def damaged(directory, name):
            with open(directory / f"{name}.tar.gz", "ab") as archive:
                archive.write(b"more")

        def unnamed(directory, name):
            (directory / "failure-artifacts-1.2.3.sha256").write_text("")

        def missing(directory, name):
            (directory / f"{name}.tar.gz").unlink()

        for change in (damaged, unnamed, missing):
            with self.subTest(change.__name__):
                action, is_released = self.released(change)
                self.assertFalse(is_released, action.log)
                self.assertEqual(action.outcomes["kept"], "success")

    def test_bundles_of_a_killed_step_are_recovered(self):
        """The step was killed, so it could not clean up."""
        place = self.place()
        action = self.action(place, tool=str(TOOL), command=f"'{EXECUTABLE}' CISuite.CICrashTests")
        action.before["tests"] = lambda script: script.replace(
            "exec \"$TOOL\" run", "set +e; bash -c \"$TEST_COMMAND\"; exit 1 #")
        action.run()
        self.assertEqual(action.outcomes["tests"], "failure")
        self.assertEqual(action.outputs()["bundles"], "1")
        self.assertEqual([bundle.stem for bundle in place.bundles()], ["CICrashTests.testCrashes"])

    def test_words_of_the_command(self):
        """A shell evaluates them, which the article warns of, as it evaluates a step. The template does the same."""
        words = "printf '%s;' 'a b' \"$HOME\" c\\ d \"$(printf evaluated)\""
        template = yaml.safe_load(TEMPLATE.read_text())[".failure-artifacts"]
        for command, output, status in (
                (words, "a b;{HOME};c d;evaluated;", 0), ("true && echo one; echo two", "one\ntwo\n", 0),
                ("FOO=bar sh -c 'echo $FOO'", "bar\n", 0), ("cd / && pwd", "/\n", 0), ("(exit 4) | cat", "", 4),
                ("false && echo one", "", 1), ("false; echo one", "", 1), ("echo one\nexit 3", "one\n", 3)):
            with self.subTest(command):
                place = self.place()
                output = output.format(HOME=place.environment["HOME"])
                action = self.action(place, tool=str(TOOL), command=command, directory="a b/c")
                action.before["tests"] = lambda script: f"status=0; ({script}) || status=$?; echo \"<$status>\""
                action.run()
                self.assertIn("\n" + output, action.log)
                self.assertIn(f"<{status}>", action.log)
                place.environment.update(template["variables"], FAILURE_ARTIFACTS_COMMAND=command, tool=str(TOOL))
                process = place.script("\n".join(template["script"][2:]), "bash", "-eo", "pipefail")
                self.assertEqual((process.stdout, process.returncode), (output, status), process.stderr)

    def test_an_outcome_in_another_directory(self):
        place = self.place()
        (place.directory / "sub dir").mkdir()
        action = self.action(place, **{
            "tool": str(TOOL), "working-directory": "sub dir", "directory": "left over",
            "command": f"'{EXECUTABLE}' CISuite.CITests/testThrows"})
        action.run()
        self.assertEqual(action.outputs()["bundles"], "1")
        self.assertEqual(len(action.uploads[0]["files"]), 2)

    def test_the_article_gives_what_the_action_takes(self):
        text = recipe_of("GitHub Actions")
        steps = yaml.safe_load(text)["jobs"]["test"]["steps"]
        place = self.place()
        for script in (step["run"] for step in steps if "run" in step):
            self.assertEqual(place.script(script, "bash", "-e").returncode, 0)
        # The action downloads a release.
        self.assertEqual(place.installed, [PREPARATION[0], PREPARATION[1] + " curl"])
        (step,) = [step for step in steps if "failure-artifacts" in step.get("uses", "")]
        self.assertTrue(step["uses"].split("@")[0].endswith("failure-artifacts/Scripts/github-action"))
        self.assertLessEqual(set(step["with"]), set(yaml.safe_load(ACTION.read_text())["inputs"]))

    def test_actions_are_pinned(self):
        files = [ACTION, TEMPLATE, ROOT / "README.md", *ARTICLE.parent.glob("*.md"), *(ROOT / "Scripts/ci").iterdir()]
        self.assertEqual(
            {str(file.relative_to(ROOT)): workflow.pin_problems(file.read_text()) for file in files},
            {str(file.relative_to(ROOT)): [] for file in files})
        self.assertIn("uses: actions/", ACTION.read_text())
        self.assertIn("uses: actions/", ARTICLE.read_text())

    def test_every_expression_is_known(self):
        action = self.action(self.place())
        for step in action.definition["runs"]["steps"]:
            self.assertTrue("uses" in step or step["shell"] == "bash", step["id"])
            # No untrusted value is pasted into a script.
            self.assertNotIn("${{", step.get("run", ""))
        ids = [step["id"] for step in action.definition["runs"]["steps"]]
        self.assertEqual(len(set(ids)), len(ids))


def recipe_of(service):
    """The recipe for a service: the action's in the article, the template's in its head, others in files."""
    if service == "GitHub Actions":
        (code,) = re.findall(r"```yaml\n(.*?)```", ARTICLE.read_text(), re.DOTALL)
        return code
    (cell,) = re.findall(rf"^\| {service} \| (.+?) \|", ARTICLE.read_text(), re.MULTILINE)
    text = (ROOT / re.search(r"`(.+?)`", cell)[1]).read_text()
    if service == "GitLab":
        header = re.match(r"(?:#.*\n)+", text)[0]
        return "\n".join(line[5:] for line in header.splitlines() if line.startswith("#     "))
    return text


class GitLab(CICase):
    def test_template(self):
        place = self.checkout("GitLab CI")
        job = yaml.safe_load(TEMPLATE.read_text())[".failure-artifacts"]
        place.environment.update(job["variables"])
        place.environment["CI_PROJECT_DIR"] = str(place.directory)
        process = place.script("\n".join(job["script"]), "bash", "-eo", "pipefail")
        self.assertEqual(process.returncode, 1, process.stderr)
        after = place.script("\n".join(job["after_script"]), "bash", "-eo", "pipefail")
        self.assertEqual((after.returncode, after.stdout), (0, ""), after.stderr)
        self.check_bundles(place, "GitLab CI")
        self.check_page(place)
        self.check_results(place, job["artifacts"]["reports"]["junit"], base=place.directory)
        tool, baselines = job["cache"]
        self.assertEqual((tool["paths"], tool["when"]), ([".failure-artifacts-tool"], "always"))
        self.assertEqual(baselines["paths"], [job["variables"]["FAILURE_ARTIFACTS_BASELINE"]])
        # Only a job that says so, such as one of the default branch, changes what others read.
        self.assertEqual((baselines["when"], baselines["policy"]), ("always", "$FAILURE_ARTIFACTS_BASELINE_POLICY"))
        self.assertEqual(job["variables"]["FAILURE_ARTIFACTS_BASELINE_POLICY"], "pull")
        self.assertEqual(job["artifacts"]["when"], "always")
        # GitLab links a single file without variables.
        self.assertEqual(job["artifacts"]["expose_as"], "Failure artifacts")
        self.assertEqual(
            job["artifacts"]["paths"],
            [f"{place.artifacts.name}/report.html", "$FAILURE_ARTIFACTS_DIR"])
        self.assertTrue((place.directory / job["artifacts"]["paths"][0]).is_file())
        self.assertEqual(job["variables"]["FAILURE_ARTIFACTS_DIR"], place.artifacts.name)

    def test_the_cached_tool(self):
        """It is built only if there is none, or if it doesn't run."""
        job = yaml.safe_load(TEMPLATE.read_text())[".failure-artifacts"]
        for cached, builds in (None, True), ("#!/bin/sh\nexit 1\n", True), ("tool", False):
            place = self.checkout("GitLab CI")
            place.stand_in("swift", place.swift("CISuite.CITests/testPasses"))
            place.environment.update(job["variables"])
            tool = place.directory / job["cache"][0]["paths"][0] / "failure-artifacts"
            if cached:
                tool.parent.mkdir()
                tool.symlink_to(TOOL) if cached == "tool" else tool.write_text(cached)
                tool.chmod(0o755)
            process = place.script("\n".join(job["script"]), "bash", "-eo", "pipefail")
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertEqual(place.built, builds, cached)
            self.assertEqual(tool.is_symlink(), not builds)
            # Tests that pass leave only the tool, their baselines and the results.
            after = place.script("\n".join(job["after_script"]), "bash", "-eo", "pipefail")
            self.assertEqual(after.returncode, 0, after.stderr)
            self.assertEqual(
                sorted(entry.name for entry in place.directory.iterdir()),
                [".failure-artifacts-baseline", ".failure-artifacts-tool", "failure-artifacts-junit.xml"])

    def test_the_header_of_the_template_extends_it(self):
        example = yaml.safe_load(recipe_of("GitLab"))
        self.assertEqual(ROOT / example["include"][0]["file"], TEMPLATE)
        self.assertIn(example["test"]["extends"], yaml.safe_load(TEMPLATE.read_text()))
        place = self.checkout("GitLab CI")
        process = place.script("\n".join(example["test"]["before_script"]), "bash", "-eo", "pipefail")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(place.installed, PREPARATION)


class Recipes(CICase):
    """The commands in the article and the recipes. Their tests are those of one class, and `swift test` starts them at once."""

    FAILING = ["CITests.testFails", "CITests.testThrows"]

    def recipe(self, service=None):
        place = self.checkout(service)
        place.stand_in("swift", place.swift("CISuite.CITests"))
        return place

    def check_outputs(self, place, service, process, junit="junit.xml", status=1):
        self.assertEqual(process.returncode, status, process.stdout[-2000:] + process.stderr[-2000:])
        self.check_bundles(place, service, self.FAILING)
        self.assertIn("<title>2 failed tests</title>", (place.artifacts / "report.html").read_text())
        text = (place.directory / junit).read_text()
        self.assertEqual(junit_rules.problems(text), [])
        self.assertEqual(
            junit_rules.results(text), {
                "CITests/testFails": ["failure"], "CITests/testIsFlaky": ["passed"], "CITests/testIsSkipped": ["skipped"],
                "CITests/testPasses": ["passed"], "CITests/testThrows": ["failure"]})
        self.assertEqual(sum(len(files) for files in junit_rules.attachments(text).values()), 2)

    def test_overview(self):
        place = self.recipe()
        article = ARTICLE.read_text()
        code, *_ = re.findall(r"```sh\n(.*?)```", article.split("\n## ")[1], re.DOTALL)
        self.check_outputs(place, None, place.script(code, "sh"))

    def test_what_passed_on_another_attempt(self):
        """In one workspace, and in a repeated job that has downloaded the first job's uploads."""
        _, *recipes = re.findall(r"```sh\n(.*?)```", ARTICLE.read_text().split("\n## ")[1], re.DOTALL)
        self.assertEqual(len(recipes), 2)
        for code, page, first in zip(recipes, ("failure-artifacts/report.html", "merged/report.html"), (None, "attempt-1")):
            with self.subTest(page):
                place = self.checkout()
                place.stand_in("swift", place.swift("CISuite.CITests/testIsFlaky"))
                place.environment["CI_SUITE_FLAKY"] = str(place.directory / "flag")
                place.run("swift", "build", "--product", "failure-artifacts")
                if first:
                    attempt = place.run(
                        TOOL, "run", "--", "swift", "test", env={"FAILURE_ARTIFACTS_DIR": first})
                    self.assertEqual(attempt.returncode, 1, attempt.stderr)
                    # The recipe selects the tests of the second attempt.
                    place.tests = "CITests/testNothing"
                    place.stand_in("swift", place.swift())
                process = place.script(code, "sh", "-e")
                self.assertEqual(process.returncode, 0, process.stderr)
                text = (place.directory / page).read_text()
                self.assertIn("<title>1 failed test</title>", text)
                self.assertIn("Also here: 1 bundle of tests that passed.", text)

    def test_jenkins(self):
        place = self.recipe("Jenkins")
        (script,) = re.findall(r"sh '''(.*?)'''", recipe_of("Jenkins"), re.DOTALL)
        # Groovy removes a backslash and the end of the line, and Jenkins' shell prints each command.
        process = place.script(script.replace("\\\n", ""), "sh", "-xe")
        self.check_outputs(place, "Jenkins", process)

    def test_buildkite(self):
        place = self.recipe("Buildkite")
        place.stand_in("buildkite-agent", f'printf "%s " "$@" >"{place.bin}/words"; cat >"{place.bin}/annotation"\n')
        (step,) = yaml.safe_load(recipe_of("Buildkite"))["steps"]
        self.assertIsNone(re.search(r"(?<!\$)\$(?![\$?])", step["command"].replace("$$", "")))
        process = place.script(step["command"].replace("$$", "$"), "bash", "-e")
        self.check_outputs(place, "Buildkite", process)
        self.assertEqual(
            (place.bin / "words").read_text(), "annotate --style error --context failure-artifacts ")
        self.assertTrue((place.bin / "annotation").read_text().startswith("## 2 failed tests\n"))
        self.assertEqual(step["artifact_paths"], ["failure-artifacts/**/*", "junit.xml"])

    def test_circleci(self):
        place = self.recipe("CircleCI")
        steps = yaml.safe_load(recipe_of("CircleCI"))["jobs"]["test"]["steps"]
        scripts = [step["run"] for step in steps if isinstance(step, dict) and "run" in step]
        for script in scripts[:-1]:
            self.assertEqual(place.script(script, "bash", "-eo", "pipefail").returncode, 0)
        process = place.script(scripts[-1], "bash", "-eo", "pipefail")
        (results,) = [step["store_test_results"]["path"] for step in steps if "store_test_results" in step]
        self.check_outputs(place, "CircleCI", process, junit=f"{results}/swift/junit.xml")
        self.assertEqual(place.installed, PREPARATION)
        (stored,) = [step["store_artifacts"]["path"] for step in steps if "store_artifacts" in step]
        self.assertEqual(place.directory / stored, place.artifacts)

    def test_azure(self):
        place = self.recipe("Azure Pipelines")
        steps = yaml.safe_load(recipe_of("Azure Pipelines"))["steps"]
        scripts = [step["script"] for step in steps if "script" in step]
        # Azure expands its own variables with the syntax of a shell's commands.
        self.assertNotIn("$(", "".join(scripts))
        for script in scripts:
            process = place.script(script, "bash", "--noprofile", "--norc")
            if process.returncode:
                break
        self.check_outputs(place, "Azure Pipelines", process)
        (summary,) = re.findall(r"^##vso\[task\.uploadsummary\](.+)$", process.stdout, re.MULTILINE)
        self.assertTrue(pathlib.Path(summary).read_text().startswith("## 2 failed tests\n"))
        # The tool's own messages contain no commands. The log of the tests must stay unchanged.
        self.assertNotIn("##vso", process.stderr)
        self.assertNotIn("##[", process.stderr)

    def test_bitrise(self):
        place = self.recipe("Bitrise")
        for name in ("BITRISE_TEST_RESULT_DIR", "BITRISE_DEPLOY_DIR"):
            (place.directory / name).mkdir()
            place.environment[name] = str(place.directory / name)
        steps = yaml.safe_load(recipe_of("Bitrise"))["workflows"]["test"]["steps"]
        (script,) = [step["script"]["inputs"][0]["content"] for step in steps if "script" in step]
        process = place.script(script, "bash")
        self.check_outputs(place, "Bitrise", process, junit="BITRISE_TEST_RESULT_DIR/swift/junit.xml")
        about = place.directory / "BITRISE_TEST_RESULT_DIR/swift/test-info.json"
        self.assertEqual(json.loads(about.read_text()), {"test-name": "swift test"})
        listed = place.run(TOOL, "list", "--json", str(place.directory / "BITRISE_DEPLOY_DIR/failure-artifacts.zip"))
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertEqual(len(listed.stdout.splitlines()), len(self.FAILING))

    def test_bitbucket(self):
        place = self.recipe("Bitbucket Pipelines")
        step = yaml.safe_load(recipe_of("Bitbucket Pipelines"))["pipelines"]["default"][0]["step"]
        process = place.script("\n".join(step["script"]), "bash", "-e")
        self.check_outputs(place, "Bitbucket Pipelines", process, junit="test-results/junit.xml")
        self.assertEqual(place.installed, PREPARATION)
        self.assertEqual(step["artifacts"], ["failure-artifacts/**"])

    def test_xcode_cloud(self):
        """Without `run`, because Xcode Cloud runs the tests."""
        place = self.recipe("Xcode Cloud")
        directory = place.directory / "made"
        tests = place.run("swift", "test", "--parallel", env={"FAILURE_ARTIFACTS_DIR": str(directory)})
        self.assertEqual(tests.returncode, 1)
        place.stand_in("curl", f'printf "%s\\n" "$@" >"{place.bin}/words"; cat >"{place.bin}/upload.zip"\n')
        place.environment.update({
            "TEST_RUNNER_FAILURE_ARTIFACTS_DIR": str(directory), "ARTIFACTS_URL": "https://store.example/app",
            "CI_PRIMARY_REPOSITORY_PATH": str(place.directory)})
        script = recipe_of("Xcode Cloud")
        process = place.script(script, "sh")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("## 2 failed tests\n", process.stdout)
        self.assertTrue((place.bin / "words").read_text().endswith("/app/9d8f8a8b-1111.zip\n"))
        with zipfile.ZipFile(place.bin / "upload.zip") as upload:
            names = [name for name in upload.namelist() if not name.startswith(".")]
        self.assertEqual(sorted(name for name in names if not name.endswith(".zip")), ["report.html"])
        self.assertEqual(len(names), len(self.FAILING) + 1)
        place.directory = directory
        directory.joinpath("failure-artifacts").symlink_to(directory)
        self.check_bundles(place, "Xcode Cloud", self.FAILING)

    def test_xcode_cloud_where_nothing_failed(self):
        place = self.checkout("Xcode Cloud")
        place.environment["TEST_RUNNER_FAILURE_ARTIFACTS_DIR"] = str(place.directory / "none")
        process = place.script(recipe_of("Xcode Cloud"), "sh")
        self.assertEqual((process.returncode, process.stdout, process.stderr), (0, "", ""))

    def test_there_is_a_recipe_for_each(self):
        rows = re.findall(r"^\| (.+?) \|", ARTICLE.read_text().split("\n## Other services\n")[1], re.MULTILINE)
        self.assertEqual(set(rows[2:]), {name.removesuffix(" CI") for name in SERVICES})
        for service in rows[2:]:
            self.assertTrue(recipe_of(service))

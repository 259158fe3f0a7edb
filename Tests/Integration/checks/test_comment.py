"""The comment that GitHub's action makes in a pull request, with a stand-in for GitHub's API."""

import json
import re
import shutil

import github_api
import harness
import test_ci
import untrusted
import workflow
from harness import TOOL

setUpModule, tearDownModule = test_ci.setUpModule, test_ci.tearDownModule

HEAD = "0a1b2c3d" * 5
# What must not be more than text: a mention, HTML, fences, references, links and a picture.
EVIL = "@everyone <img src=x> --> ``` ` #1 octo/app#2 [l](https://evil.example) https://evil.example ![p](//evil.example)"
PLAIN = "Charge is wrong"


def bundle(text):
    """A bundle of a test that failed after an error in a statement; `text` is in all its names and texts."""
    statement = {
        "at": "2026-11-21T07:08:09.110Z", "connection": 1, "order": 1, "phase": "test", "thread": "7f",
        "error": {"code": 2067, "message": f"UNIQUE constraint failed: {text}"},
        "sql": f"INSERT INTO child VALUES (1) /* {text} */",
        "source": {"file": "Sources/Ledger/Ledger.swift", "line": 42, "function": text}}
    store = untrusted.described(name=text, statements={"entry": "statements/ledger.jsonl", "count": 1})
    failure = {"message": f"{text}\n```\n~~~\n@everyone\n<!-- -->", "file": "Sources/Ledger/Ledger.swift", "line": 7,
               "kind": "assertion", "at": "2026-11-21T07:08:09.120Z"}
    test = {"framework": "XCTest", "suite": "LedgerTests", "name": text, "attempt": 1, "arguments": [text]}
    variables = {"GITHUB_SERVER_URL": "https://evil.example", "GITHUB_REPOSITORY": "a/b", "GITHUB_SHA": "0" * 40}
    metadata = untrusted.metadata(store, failures=[failure], test=test, environment={
        **untrusted.ENVIRONMENT, "ci": {"service": "GitHub Actions", "variables": variables}})
    quoted = text.replace('"', '""')
    return untrusted.packed({
        "metadata.json": json.dumps(metadata), "statements/ledger.jsonl": json.dumps(statement) + "\n",
        "stores/ledger.sqlite": untrusted.database(f'CREATE TABLE child(parent); CREATE TABLE "{quoted}"(id);')})


def without_code(markdown):
    """The parts of Markdown that are neither in blocks of code nor in code within a line."""
    markdown = re.sub(r"^(`{3,})text\n.*?^\1\n", "", markdown, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)", "CODE", markdown)


class Comments(test_ci.CICase):
    def setUp(self):
        self.api = github_api.API()
        self.addCleanup(self.api.server_close)
        self.addCleanup(self.api.shutdown)

    def place(self):
        place = test_ci.GitHub.place(
            self, GITHUB_API_URL=self.api.url, GITHUB_WORKFLOW="Tests & more -->", GITHUB_RUN_NUMBER="12")
        source = place.directory / "server/Sources/Ledger/Ledger.swift"
        source.parent.mkdir(parents=True)
        source.touch()
        place.number, place.head, place.token = "7", HEAD, self.api.TOKEN
        # Other users see the arguments of a program.
        real, self.words = shutil.which("curl"), place.bin / "curl.words"
        place.stand_in("curl", f"printf '%s\\n' \"$@\" >>'{self.words}'\nexec '{real}' \"$@\"\n")
        return place

    def run_action(self, place, text=PLAIN, status=1, before=lambda action: None, **inputs):
        """Runs the action in a fresh checkout with tests that leave a bundle; without `text`, they leave none."""
        shutil.rmtree(place.directory / "server/failure-artifacts", ignore_errors=True)
        command = f"exit {status}"
        if text is not None:
            (place.bin / "LedgerTests.t-00000001.zip").write_bytes(bundle(text))
            command = f"mkdir -p failure-artifacts; cp '{place.bin}'/*.zip failure-artifacts; exit {status}"
        action = test_ci.GitHub.action(self, place, **{
            "tool": str(TOOL), "working-directory": "server", "command": command, "comment": "true", **inputs})
        before(action)
        action.run()
        self.assertEqual(action.outcomes["tests"], "failure" if status else "success", action.log)
        self.assertNotEqual(action.outcomes["comment"], "failure", action.log)
        self.assertNotIn(self.api.TOKEN, action.log)
        if self.words.exists():
            self.assertNotIn(self.api.TOKEN, self.words.read_text())
        return action

    def test_one_comment(self):
        """A failure creates it, and all later runs replace it, also on the second page of comments."""
        marker = "<!-- failure-artifacts Tests%20%26%20more%20--%3E/test-0 "
        for number in range(110):
            self.api.add("hello" if number else marker + "1 -->", {"login": "octocat", "type": "User"})
        self.api.add(marker + "1 -->", {"login": "dependabot[bot]", "type": "Bot"})
        self.api.add("> " + marker + "1 -->", github_api.BOT)
        self.api.add(marker + "1 -->", None)
        others = json.dumps(self.api.comments)
        place = self.place()

        def check(written, start, **options):
            action = self.run_action(place, **options)
            self.assertEqual(self.api.written(), written, action.log)
            self.assertEqual(json.dumps(self.api.comments[:-1]), others)
            self.assertEqual(action.obeyed_in["comment"], [])
            place.environment["GITHUB_RUN_NUMBER"] = str(int(place.environment["GITHUB_RUN_NUMBER"]) + 1)
            comment = self.api.comments[-1]
            number = int(place.environment["GITHUB_RUN_NUMBER"]) - 1
            self.assertTrue(comment["body"].startswith(f"{marker}{number} -->\n## {start}\n"), comment["body"])
            return comment

        comment = check([("POST", "/repos/octo/app/issues/7/comments")], "1 failed test")
        code = f"https://github.example/octo/app/blob/{HEAD}/server/Sources/Ledger/Ledger.swift"
        run = "https://github.example/octo/app/actions/runs/1658821493/attempts/3"
        for part in (
                f"[`Tests & more -->/test-0`](<{run}>) at [`0a1b2c3`](<https://github.example/octo/app/commit/{HEAD}>)",
                f"[**The page about all failures**](<{workflow.PAGE_URL}>)", f"[The bundles](<{workflow.URL}>)",
                f"\n````text\n{PLAIN}\n```\n",
                "\n### `LedgerTests.Charge is wrong(Charge is wrong)` failed\n",
                f"\n[`Sources/Ledger/Ledger.swift:7`](<{code}#L7>)\n",
                "\nWeak hint (possible): [`UNIQUE constraint failed: Charge is wrong", f"Ledger.swift:42`](<{code}#L42>)\n",
                "```text\nfailure-artifacts explain failure-artifacts/00000001\n```\n"):
            self.assertIn(part, comment["body"])
        # The summary of the step has the path in the repository, too.
        self.assertIn("/server/Sources/Ledger/Ledger.swift#L42>)", place.step_summary.read_text())
        replaced = [("PATCH", f"/repos/octo/app/issues/comments/{comment['id']}")]
        self.assertIn("Another message", check(replaced, "1 failed test", text="Another message")["body"])
        gone = check(replaced, "No failed tests", text=None, status=0)["body"]
        self.assertIn(f"\nThe failures are gone: [`Tests & more -->/test-0`](<{run}>) at [`0a1b2c3`]", gone)
        check(replaced, "1 failed test")
        # A test that passed when it was repeated.
        check(replaced, "No failed tests", status=0)

    def test_no_comment_is_needed(self):
        """After green runs, builds that fail and cancelled runs, for other events, and without the input."""
        place = self.place()
        for status in 0, 1:
            action = self.run_action(place, text=None, status=status)
            self.assertEqual((self.api.written(), action.obeyed_in["comment"]), ([], []), action.log)

        def cancel(action):
            action.before["tests"] = lambda script: setattr(action, "is_cancelled", True) or script

        for inputs in ({"comment": "false"}, {"before": cancel}, {"number": ""}):
            with self.subTest(inputs):
                place.number = inputs.pop("number", "7")
                action = self.run_action(place, **inputs)
                self.assertEqual(action.outcomes["comment"], "skipped")
                self.assertEqual(self.api.requests, [])

    def test_each_job_has_its_own(self):
        place = self.place()
        names = ["failure-artifacts-test-0-3", "failure-artifacts-test-1-3", "mine-3"]
        for name in names:
            self.run_action(place, text=f"of {name}", name=name)
        # The first job has run again, and another workflow has a job of the same name.
        place.environment["GITHUB_RUN_ATTEMPT"] = "4"
        self.run_action(place, text=None, status=0, name="failure-artifacts-test-0-4")
        place.environment["GITHUB_WORKFLOW"] = "Other"
        self.run_action(place, name="failure-artifacts-test-0-4")
        first, second, third, other = (comment["body"] for comment in self.api.of_bot())
        self.assertIn("\n## No failed tests\n", first)
        self.assertIn("of failure-artifacts-test-1-3", second)
        self.assertIn("of mine-3", third)
        self.assertTrue(other.startswith("<!-- failure-artifacts Other/test-0 12 -->\n## 1 failed test\n"), other)

    def test_an_earlier_run_that_ends_later(self):
        place = self.place()
        self.run_action(place, text="of the later one")
        self.api.written()
        place.environment["GITHUB_RUN_NUMBER"] = "9"
        for options in ({}, {"text": None, "status": 0}):
            self.run_action(place, **options)
            self.assertEqual(self.api.written(), [])

    def test_tokens_and_servers_that_refuse(self):
        """The job has the result of the tests, and one line says why there is no comment."""
        place = self.place()
        self.api.is_fork = True
        action = self.run_action(place)
        self.assertEqual(self.api.written(), [("POST", "/repos/octo/app/issues/7/comments")])
        self.assertEqual(len(re.findall("^No comment was written.* fork", action.log, re.MULTILINE)), 1, action.log)
        self.assertEqual(action.obeyed_in["comment"], [])
        self.api.is_fork = False
        for answer, url, token, reason in (
                ((500, "{}"), None, None, "the status of GET is 500"), ((200, "[{}]"), None, None, "the tool failed"),
                ((200, "<html>"), None, None, "the tool failed"), (None, None, "other", "the status of GET is 401"),
                (None, "http://127.0.0.1:1", None, "curl doesn't reach http://127.0.0.1:1")):
            with self.subTest(reason):
                place.environment["GITHUB_API_URL"] = url or self.api.url
                place.token, self.api.answer = token or self.api.TOKEN, answer
                action = self.run_action(place)
                self.assertEqual(self.api.written(), [])
                self.assertEqual(
                    action.obeyed_in["comment"],
                    [("warning", {}, f"No comment was written in the pull request: {reason}.")], action.log)
        self.assertEqual(self.api.comments, [])

    def test_hostile_text(self):
        """All of it is in code."""
        place = self.place()
        self.run_action(place, text=EVIL)
        (comment,) = self.api.comments
        self.assertGreater(comment["body"].count("@everyone"), 5)
        start, rest = comment["body"].split("\n", 1)
        self.assertRegex(start, r"^<!-- [^<>]+ -->$")
        text = without_code(rest)
        for part in ("@", "<img", "<!--", "-->", "`", "evil", "![", "#1"):
            self.assertNotIn(part, text)
        addresses = re.findall(r"\]\(<([^<>]*)>\)", text)
        self.assertEqual(len(addresses), text.count("]("))
        for address in addresses:
            self.assertTrue(address.startswith("https://github.example/octo/app/"), address)

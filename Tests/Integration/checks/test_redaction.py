"""Secrets in stores, statements and attachments don't occur in any output of a run.

Each scenario also runs without redactions, and the secret must occur then. Otherwise its absence would prove nothing.
"""

import hashlib
import hmac
import io
import json
import pathlib
import random
import secrets
import signal
import stat
import subprocess
import time
import zipfile

import harness
from test_crash import KILLS, SEED, TOOL, CrashCase

RULES = {
    "columns": [{"table": "users", "column": "token", "method": "mask"}],
    "tables": ["SESS*"],
    "attachments": ["*.log"],
}


def forms(secret):
    """The forms in which SQLite may store the secret, or a program may write it."""
    return [secret.encode(), secret.encode("utf-16-le"), secret.encode("utf-16-be"), secret.encode().hex().encode(),
            secret.encode().hex().upper().encode()]


def found_in(content, secret):
    return any(form in content for form in forms(secret))


def traces(directory, secret):
    """The files below a directory that contain the secret. Zips are searched by the content of their entries."""
    found = []
    for path in sorted(pathlib.Path(directory).rglob("*")):
        if not path.is_file():
            continue
        content = path.read_bytes()
        if found_in(content, secret) or found_in(str(path).encode(), secret):
            found.append(path.name)
        if content.startswith(b"PK"):
            try:
                with zipfile.ZipFile(io.BytesIO(content)) as archive:
                    names = archive.namelist()
                    found += [f"{path.name}/{name}" for name in names if found_in(archive.read(name), secret)]
            except zipfile.BadZipFile:
                pass  # Incomplete, because the process was killed. Its entries were checked in the staging directory.
    return found


class RedactionCase(CrashCase):
    def setUp(self):
        # A new secret for each run, so that it is in no source, log or build.
        self.secret = "s3cret" + secrets.token_hex(12)

    def place(self, rules=RULES, **variables):
        place = super().place(SUITE_SECRET=self.secret, **variables)
        if rules is not None:
            self.add_rules(place, rules)
        return place

    def add_rules(self, place, rules):
        file = place.directory / "redactions.json"
        file.write_text(json.dumps(rules))
        place.environment["FAILURE_ARTIFACTS_REDACTIONS"] = str(file)

    def assertClean(self, place):
        self.assertEqual(traces(place.artifacts, self.secret), [])
        left = [path.name for path in (place.directory / "tmp").iterdir() if path.name.startswith("failure-artifacts")]
        self.assertEqual(left, [], "private copies were left")

    def assertUnredacted(self, name, **variables):
        """Without redactions, the bundle contains the secret."""
        place = self.place(rules=None, **variables)
        place.run(name)
        place.sweep() if place.artifacts.is_dir() else None
        self.assertNotEqual(traces(place.artifacts, self.secret), [], "the secret is missing without redactions")


class Stores(RedactionCase):
    """All ways to copy a store."""

    def redacted(self, name, suite="RawSuite.RedactionTests", warnings=(), is_stored=True, status=1, rules=RULES,
                 **variables):
        test = f"{suite}/{name}"
        if is_stored:
            self.assertUnredacted(test, **variables)
        place = self.place(rules, **variables)
        code, _, errors = place.run(test)
        self.assertEqual(code, status, errors)
        self.assertEqual(place.in_flight, [])
        self.assertClean(place)
        (bundle,) = place.bundles()
        self.check(bundle)
        verified = subprocess.run([str(TOOL), "verify", str(bundle.path)], capture_output=True, text=True)
        self.assertEqual(verified.returncode, 0, verified.stdout)
        found = bundle.metadata["warnings"]
        self.assertEqual([warning["code"] for warning in found], list(warnings), found)
        for warning in found:
            self.assertIn(warning["text"], errors)
        return bundle

    def assertRedacted(self, bundle, method, users=40, entry="entry"):
        (store,) = bundle.metadata["stores"]
        self.assertEqual(store["capture"]["method"], method)
        copy = harness.Store(bundle.contents[store[entry]])
        tokens = copy.query("SELECT token, count(*) FROM users GROUP BY length(token) ORDER BY 1")
        self.assertEqual({token.strip("*") for token, _ in tokens}, {""})
        self.assertEqual(sum(count for _, count in tokens), users)
        self.assertEqual(copy.query("SELECT count(*) FROM users WHERE name LIKE 'user %'"), [(40,)])
        self.assertEqual(copy.query("SELECT name FROM sqlite_master ORDER BY 1"), [("by_token",), ("users",)])
        self.assertEqual(
            store["redactions"], ["users.token: masked", "sessions: dropped", "statements: without values"])
        texts = {record["sql"].strip(";\n ") for record in bundle.statements(store)}
        self.assertIn("INSERT INTO users(name, token) VALUES (?, ?)", texts)
        return store

    def test_each_kind_of_copy(self):
        for name, method, is_open in (
                ("testWAL", "fileCopy", False), ("testRollbackJournal", "fileCopy", False),
                ("testPersistentJournal", "fileCopy", False), ("testInMemory", "ownConnection", False),
                ("testClosedStore", "fileCopy", False), ("testClosedInMemory", "atClose", False),
                ("testTransactionInWAL", "pageCache", True), ("testTransactionWithJournal", "pageCache", True),
                ("testThrownError", "beforeRollback", True)):
            with self.subTest(name):
                bundle = self.redacted(name)
                store = self.assertRedacted(bundle, method, users=41 if is_open else 40)
                if is_open:
                    self.assertRedacted(bundle, method, entry="committedEntry")
                if name == "testWAL":
                    self.assertEqual(store["journalMode"], "wal")
                    self.assertNotIn("entry", store["history"])
                    self.assertIn("cannot be redacted", store["history"]["reason"])

    def test_every_failure(self):
        bundle = self.redacted("testFailsAgainAndAgain", FAILURE_ARTIFACTS="every-failure")
        self.assertRedacted(bundle, "fileCopy")
        (snapshot,) = bundle.metadata["snapshots"]
        (store,) = snapshot["stores"]
        copy = harness.Store(bundle.contents[store["entry"]])
        self.assertEqual(copy.query("SELECT DISTINCT trim(token, '*') FROM users"), [("",)])

    def test_statements(self):
        bundle = self.redacted("testStatements")
        (store,) = bundle.metadata["stores"]
        records = bundle.statements(store)
        texts = [record["sql"] for record in records]
        self.assertIn("SELECT name FROM users WHERE token = ?", texts)
        self.assertTrue(any(text.startswith("SELECT name FROM users WHERE token = ? OR token = ?") for text in texts))
        (error,) = [record["error"] for record in records if "error" in record]
        self.assertEqual(error["message"], "SQL logic error")

    def test_full_text(self):
        bundle = self.redacted("testFullText", warnings=["virtual-table-dropped"])
        (store,) = bundle.metadata["stores"]
        tables = harness.Store(bundle.contents[store["entry"]]).query("SELECT name FROM sqlite_master WHERE type = 'table'")
        self.assertEqual(tables, [("users",)])

    def test_a_store_that_cannot_be_redacted_is_described(self):
        bundle = self.redacted(
            "testStoreThatCannotBeRedacted",
            warnings=["store-not-copied", "copy-unreadable"])
        (store,) = bundle.metadata["stores"]
        self.assertEqual(store["capture"]["method"], "described")
        self.assertNotIn("entry", store)

    def test_what_was_copied_elsewhere_is_said(self):
        place = self.place()
        place.run("RawSuite.RedactionTests/testCopiedElsewhere")
        (bundle,) = place.bundles()
        (warning,) = bundle.metadata["warnings"]
        self.assertEqual(warning, {
            "code": "removed-value-remains", "entry": "stores/redacted.sqlite",
            "text": "A value that was removed from users.token is still in 'stores/redacted.sqlite', where no "
                    "redaction names it."})

    def test_rules_that_cannot_be_read(self):
        place = self.place()
        pathlib.Path(place.environment["FAILURE_ARTIFACTS_REDACTIONS"]).write_text('{"table": ["users"]}')
        _, _, errors = place.run("RawSuite.RedactionTests/testWAL")
        self.assertClean(place)
        self.assertIn("FAILURE_ARTIFACTS_REDACTIONS is '", errors)
        (bundle,) = place.bundles()
        (store,) = bundle.metadata["stores"]
        self.assertEqual(store["capture"]["method"], "described")
        self.assertNotIn("statements", store)

    def test_no_private_place(self):
        place = self.place()
        # The suite needs a temporary directory for its stores, but must not get one for private copies.
        name = "RawSuite.RedactionTests/testInMemory"
        place.environment["TMPDIR"] = str(place.directory / "missing")
        place.run(name)
        self.assertEqual(traces(place.artifacts, self.secret), [])
        (bundle,) = place.bundles()
        self.assertEqual(bundle.metadata["stores"][0]["capture"]["method"], "described")
        self.assertIn("TMPDIR", bundle.metadata["warnings"][0]["text"])


class Configured(RedactionCase):
    """Redactions that the tests configure themselves."""

    def test_snapshots_statements_and_attachments(self):
        place = self.place(rules=None)
        code, _, errors = place.run(
            "ExplicitSuite.ConfiguredRedactionTests/testSnapshotsStatementsAndAttachments")
        self.assertEqual(code, 1, errors)
        self.assertClean(place)
        (bundle,) = place.bundles()
        self.check(bundle)
        digest = hmac.new(b"pepper", self.secret.encode(), hashlib.sha256).hexdigest()[:32]
        users = harness.Store(bundle.contents["stores/redacted.sqlite"]).query("SELECT name, token FROM users")
        self.assertEqual(users, [("ann", digest), ("bob", digest), ("eve", digest)])
        users = harness.Store(bundle.contents["snapshots/before/redacted.sqlite"]).query("SELECT * FROM users")
        self.assertEqual(users, [("ann", digest), ("bob", digest)])
        attachments = {each["name"]: each.get("entry") for each in bundle.metadata["attachments"]}
        self.assertEqual(
            attachments, {"server.log": None, "kept.txt": "attachments/kept.txt", "renamed": None})
        self.assertEqual(
            [warning["code"] for warning in bundle.metadata["warnings"]], ["attachment-left-out"] * 2)
        self.assertIn("planned at ~/somewhere", bundle.messages[0])

    def test_a_sweeper_that_was_told_nothing_obeys_them(self):
        place = self.place(rules=None)
        place.run("ExplicitSuite.ConfiguredRedactionTests/testIsKilled")
        self.assertClean(place)
        (bundle,) = self.swept(place)
        self.assertClean(place)
        store = harness.Store(bundle.contents["stores/redacted.sqlite"])
        self.assertEqual(store.query("SELECT name, length(token) FROM users"), [("ann", 32), ("bob", 32), ("eve", 32)])
        # The salt is not in any file, so these hashes differ.
        digest = hmac.new(b"pepper", self.secret.encode(), hashlib.sha256).hexdigest()[:32]
        self.assertEqual(store.query(f"SELECT count(*) FROM users WHERE token = '{digest}'"), [(0,)])
        self.assertEqual(store.query("SELECT count(*) FROM sqlite_master WHERE name = 'sessions'"), [(0,)])

    def test_a_sweeper_that_does_not_understand_them_copies_nothing(self):
        place = self.place(rules=None)
        place.run("ExplicitSuite.ConfiguredRedactionTests/testIsKilled")
        (recorder,) = (place.artifacts / ".in-flight").iterdir()
        before, mark, rules = recorder.read_bytes().partition(b"\nR\t{")
        self.assertIn(b'"columns"', rules)
        # A key of the same length, because the list's length is in the file too.
        recorder.write_bytes(before + mark + rules.replace(b'"columns"', b'"unknown"', 1))
        (bundle,) = self.swept(place)
        self.assertClean(place)
        (store,) = bundle.metadata["stores"]
        self.assertEqual(store["capture"]["reason"], "Redactions leave out all content.")


class Statements(RedactionCase):
    """Secrets in all places of statements, also in those that SQLite can't parse."""

    # Each writes its output to a file, too.
    COMMANDS = ["list", "show", "explain", "explain --json", "summary", "junit -o junit.xml", "report -o report.html",
                "extract --fixture -o fixture", "extract -o extracted"]

    def run_tests(self, rules, end, **variables):
        place = self.place(rules, SUITE_END=end, **variables)
        status, _, errors = place.run("ExplicitSuite.SecretStatementTests/testSecrets")
        self.assertEqual(status, -signal.SIGKILL if end == "kill" else 1, errors)
        return place

    def outputs(self, place):
        """The directory of what the commands write about the bundle of a test."""
        place.sweep() if place.in_flight else None
        (bundle,) = place.bundles()
        outputs = place.directory / "outputs"
        outputs.mkdir()
        for number, command in enumerate(self.COMMANDS):
            verb, *options = command.split()
            result = subprocess.run(
                [str(TOOL), verb, str(bundle.path), *options], cwd=outputs, env=place.environment, capture_output=True)
            self.assertEqual(result.returncode, 0, f"{command}: {result.stderr}")
            (outputs / f"{number}.txt").write_bytes(result.stdout + result.stderr)
        return outputs

    def test_no_output_has_a_secret(self):
        rules = {**RULES, "columns": [{"column": "token", "method": "blank"}]}
        for end in ("fail", "kill"):
            for late in (False, True):
                with self.subTest(end=end, late=late):
                    place = self.run_tests(None if late else rules, end, SUITE_RULES="late" if late else "")
                    self.assertClean(place)
                    self.assertEqual(traces(self.outputs(place), self.secret), [])
                    self.assertClean(place)

    def test_without_rules_all_outputs_have_it(self):
        for end in ("fail", "kill"):
            place = self.run_tests(None, end)
            if end == "kill":
                self.assertNotEqual(traces(place.artifacts / ".in-flight", self.secret), [])
            found = traces(self.outputs(place), self.secret)
            self.assertIn("report.html", found)
            self.assertTrue(any(name.endswith(".jsonl") for name in traces(place.artifacts, self.secret)))

    def test_statements_stay_readable(self):
        place = self.run_tests(RULES, "fail")
        (bundle,) = place.bundles()
        # SQLite doesn't tell which connection couldn't parse a statement: most likely the one that was used last.
        texts = {record["sql"] for record in bundle.statements(bundle.described("b"))}
        for text in ("INSERT INTO users VALUES (name2)", "SAVEPOINT name2", "SELECT json_extract(?, ?)",
                     "INSERT INTO users VALUES (?, ?), (?, ?), (?, CAST(? AS BLOB))",
                     "SELECT token AS name2, name AS ?, ? AS ?, ? AS ? FROM users AS name3 "):
            self.assertIn(text, texts)


class Crashes(RedactionCase):
    """Other processes recover the outputs of a dead one."""

    def assertMasked(self, store, users=40):
        tokens = store.query("SELECT trim(token, '*'), count(*) FROM users GROUP BY 1")
        self.assertEqual(tokens, [("", users)])
        self.assertEqual(store.query("SELECT count(*) FROM sqlite_master WHERE name = 'sessions'"), [(0,)])

    def test_killed(self):
        self.assertUnredacted("RawSuite.RedactionTests/testIsKilled")
        place = self.place()
        place.run("RawSuite.RedactionTests/testIsKilled")
        del place.environment["FAILURE_ARTIFACTS_REDACTIONS"]
        self.assertClean(place)
        (bundle,) = self.swept(place)
        self.assertClean(place)
        self.assertMasked(bundle.store("redacted"))
        self.assertIn("cannot be redacted", bundle.metadata["stores"][0]["history"]["reason"])

    def test_failed_before(self):
        place = self.place()
        place.run("RawSuite.RedactionTests/testFailsAndIsKilled")
        self.assertClean(place)
        (bundle,) = self.swept(place)
        self.assertClean(place)
        self.assertMasked(bundle.store("redacted"))
        (snapshot,) = bundle.metadata["snapshots"]
        self.assertMasked(harness.Store(bundle.contents[snapshot["stores"][0]["entry"]]))

    def test_rules_for_the_sweeper_alone(self):
        place = self.place(rules=None)
        place.run("RawSuite.RedactionTests/testIsKilled")
        self.add_rules(place, RULES)
        (bundle,) = self.swept(place)
        self.assertClean(place)
        self.assertMasked(bundle.store("redacted"))

    def test_run(self):
        place = self.place(rules=None)
        (place.directory / "rules.json").write_text(json.dumps(RULES))
        environment = {**place.environment, "FAILURE_ARTIFACTS_REDACTIONS": str(place.directory / "rules.json")}
        for test, options in (("testIsKilled", []), ("testWAL", []), ("testHangs", ["--timeout", "3s"])):
            result = subprocess.run(
                [str(TOOL), "run", *options, "--", str(harness.EXECUTABLE),
                 f"RawSuite.RedactionTests/{test}"],
                cwd=place.directory, env=environment, capture_output=True, text=True, timeout=120)
            self.assertIn("1 bundle in", result.stderr)
            self.assertClean(place)
        bundles = place.bundles()
        self.assertEqual(len(bundles), 3)
        for bundle in bundles:
            self.assertMasked(bundle.store("redacted"))

    def test_killed_at_random_instants(self):
        """The outputs are clean at any point in time at which a process is killed."""
        chance = random.Random(SEED)
        for number in range(max(KILLS // 2, 5)):
            with self.subTest(seed=SEED, number=number):
                place = self.place(FAILURE_ARTIFACTS="every-failure")
                process = place.start("RawSuite.RedactionTests/testFailsForEver")
                harness.lines_until(process, b"failing")
                time.sleep(chance.random() * 0.4)
                process.kill()
                process.communicate()
                self.assertEqual(traces(place.artifacts, self.secret), [])
                place.sweep()
                self.assertClean(place)
                self.assertGreaterEqual(len(place.bundles()), 1)


class Privacy(RedactionCase):
    def test_no_variable_of_the_environment_gets_into_a_bundle(self):
        names = ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "CI_JOB_TOKEN", "DATABASE_URL", "MY_PASSWORD"]
        variables = {name: f"{self.secret}-{name}" for name in names}
        variables |= {
            "GITLAB_CI": "true", "CI_JOB_URL": f"https://me:{self.secret}@host/job/1?private_token={self.secret}"}
        for test in ("RawSuite.AfterwardsTests/testRowsDeletedAfterwards", "RawSuite.CrashTests/testIsKilled"):
            place = super(RedactionCase, self).place(**variables)
            place.run(test)
            self.assertClean(place)
            place.sweep() if place.in_flight else None
            self.assertClean(place)
            (bundle,) = place.bundles()
            self.assertEqual(bundle.metadata["environment"]["ci"]["variables"], {"CI_JOB_URL": "https://host/job/1"})

    def test_bundles_and_directories_are_their_owners_alone(self):
        for mask in (0o000, 0o022, 0o077):
            place = self.place(rules=None)
            process = place.start("RawSuite.RedactionTests/testFailsAndIsKilled", umask=mask)
            process.communicate(timeout=120)
            self.check_permissions(place)
            place.sweep()
            self.check_permissions(place)

    def test_bundles_for_others(self):
        for readers, file, directory in (("group", 0o640, 0o750), ("everyone", 0o644, 0o755)):
            for test in ("testWAL", "testIsKilled"):
                place = self.place(rules=None, FAILURE_ARTIFACTS_READABLE_BY=readers)
                process = place.start(f"RawSuite.RedactionTests/{test}", umask=0o077)
                process.communicate(timeout=120)
                if place.in_flight:
                    place.sweep()
                (bundle,) = place.bundles()
                self.assertEqual(oct(stat.S_IMODE(bundle.path.stat().st_mode)), oct(file))
                self.assertEqual(oct(stat.S_IMODE(place.artifacts.stat().st_mode)), oct(directory))

    def test_the_permissions_of_another_users_directory_are_kept(self):
        place = self.place(rules=None, FAILURE_ARTIFACTS_READABLE_BY="everyone")
        place.artifacts.mkdir()
        place.artifacts.chmod(0o711)
        place.run("RawSuite.RedactionTests/testWAL")
        self.assertEqual(oct(stat.S_IMODE(place.artifacts.stat().st_mode)), oct(0o711))

    def check_permissions(self, place):
        everything = [place.artifacts, *place.artifacts.rglob("*")]
        self.assertGreater(len(everything), 2)
        for path in everything:
            mode = stat.S_IMODE(path.stat().st_mode)
            self.assertEqual(oct(mode), oct(0o700 if path.is_dir() else 0o600), path)

"""Tests the scoreboard with made-up findings. Run it with `python3 -m unittest`."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("score", str(pathlib.Path(__file__).parent / "score"))
score = importlib.util.module_from_spec(importlib.util.spec_from_loader("score", LOADER))
# A dataclass looks its module up.
sys.modules["score"] = score
LOADER.exec_module(score)


def finding(*rows, confidence="likely", **lines):
    """Returns a finding with rows, which are pairs of a table and a key, and lines by their keys in the finding."""
    rows = [{"table": table, "key": key, "change": "present"} for table, key in rows]
    lines = {key: {"file": "Sources/A.swift", "line": line} for key, line in lines.items()}
    return {"code": "busy", "title": "A title", "confidence": confidence, "rows": rows, **lines}


def scored(comment, *findings, lines=(("Sources/A.swift", 2),)):
    expectation = score.parse_expectation(comment)
    expectation.lines = set(lines)
    return score.score(findings, expectation)


class CommentTests(unittest.TestCase):
    def test_rows(self):
        expectation = score.parse_expectation("posting id=3; budget accountID=1 month=2025-06")
        self.assertTrue(expectation.is_bug)
        self.assertEqual(
            expectation.rows, [("posting", {"id": "3"}), ("budget", {"accountID": "1", "month": "2025-06"})])

    def test_no_rows(self):
        self.assertEqual(score.parse_expectation("lines"), score.Expectation(is_bug=True))
        self.assertEqual(score.parse_expectation("nothing"), score.Expectation(is_bug=False))

    def test_malformed_comments(self):
        for comment in [
            "posting", "posting 3", "orphan; posting id=3", "nothing; posting id=3", "lines; posting id=3",
            "posting id=3;", ";"
        ]:
            with self.assertRaises(ValueError, msg=comment):
                score.parse_expectation(comment)

    def test_described(self):
        for comment in ["posting id=3; budget accountID=1 month=2025-06", "lines", "nothing"]:
            self.assertEqual(score.describe_expectation(score.parse_expectation(comment)), comment)

    def test_sources(self):
        test = "// Expected: lines\n@Test\nfunc testA() {}\n  // Expected: nothing\nfunc testB() async {}\n"
        library = "one()\ntwo()  // Culprit: testA\nthree()  // Culprit: testA\n"
        expectations, problems = score.parse_sources({"Tests/T.swift": test, "Sources/A.swift": library})
        self.assertEqual(problems, [])
        self.assertEqual(expectations["testA"].lines, {("Sources/A.swift", 2), ("Sources/A.swift", 3)})
        self.assertEqual(expectations["testB"], score.Expectation(is_bug=False))

    def test_problems(self):
        comment, function = "// Expected: posting id=3\n", "func testA() {}\n"
        for source in [
            comment + function,  # without a marked line
            "a()  // Culprit: testA\n",  # without a test
            "// Expected: nothing\n" + function + "a()  // Culprit: testA\n",
            comment + function + comment + function + "a()  // Culprit: testA\n",
            comment + comment + function + "a()  // Culprit: testA\n",
            "// Expected: posting\n" + function,
        ]:
            self.assertEqual(len(score.parse_sources({"T.swift": source})[1]), 1, source)

    def test_the_package(self):
        expectations, problems = score.parse_sources(score.read_sources())
        self.assertEqual(problems, [])
        self.assertTrue(expectations)


class KindTests(unittest.TestCase):
    def test_tests_of_certain_kinds(self):
        limit = {"kinds": ["wal", "rollback"], "reason": "Two connections.", "tests": ["testB"]}
        kinds, problems = score.parse_limited([limit], ["testA", "testB"])
        self.assertEqual(problems, [])
        self.assertEqual(kinds, {"testA": ("memory", "rollback", "wal"), "testB": ("rollback", "wal")})

    def test_problems(self):
        limit = {"kinds": ["wal"], "reason": "A pool.", "tests": ["testA"]}
        for limits in [
            [{**limit, "kinds": ["file"]}],
            [{**limit, "reason": ""}],
            [{**limit, "tests": ["testB"]}],
            [limit, limit],
        ]:
            self.assertEqual(len(score.parse_limited(limits, ["testA"])[1]), 1, limits)

    def test_the_package(self):
        expectations, _ = score.parse_sources(score.read_sources())
        self.assertEqual(score.parse_limited(json.loads(score.LIMITED.read_text()), expectations)[1], [])
        source = (score.PACKAGE / "Sources/Stores/StoreKind.swift").read_text()
        self.assertEqual(tuple(re.findall(r"^    case (\w+)$", source, re.MULTILINE)), score.KINDS)

    def test_the_record(self):
        """Each bug has a recorded score for all kinds with which it runs, and for no other."""
        expectations, _ = score.parse_sources(score.read_sources())
        kinds, _ = score.parse_limited(json.loads(score.LIMITED.read_text()), expectations)
        self.assertEqual(
            {name: tuple(scores) for name, scores in json.loads(score.RECORD.read_text()).items()},
            {name: kinds[name] for name, expectation in expectations.items() if expectation.is_bug})

    def test_shared_bugs(self):
        right, wrong = score.Score(1, True), score.Score(4, False)
        bugs = {
            "testA": {"memory": wrong, "rollback": right, "wal": right},
            "testB": {"memory": right, "rollback": right, "wal": wrong},
            "testC": {"memory": wrong, "rollback": right, "wal": score.Score(2, False)},
            # Doesn't count, because it has no score for stores in memory.
            "testD": {"rollback": right, "wal": wrong},
        }
        count, shared = score.totals_of_shared(bugs)
        self.assertEqual(count, 3)
        self.assertEqual([list(shared[kind].values()) for kind in score.KINDS], [[1, 1, 1], [3, 3, 3], [2, 1, 1]])
        self.assertEqual(list(score.differences(shared).values()), [2, 2, 2])

    def test_kinds_that_differ(self):
        right, wrong = score.Score(1, True), score.Score(1, False)
        bugs = {f"test{number}": dict.fromkeys(score.KINDS, right) for number in range(40)}
        for number, differs in [(0, False), (1, False), (2, True)]:
            bugs[f"test{number}"] = {"memory": wrong, "rollback": right, "wal": right}
            self.assertEqual(self.missed(bugs), [
                "The kinds of stores differ by 3 bugs that are with the right line. At most 2 are allowed."
            ] if differs else [])

    def test_percentages_of_each_kind(self):
        right, none = score.Score(1, True), score.Score()
        bugs = {f"test{number}": {"wal": right} for number in range(6)}
        bugs |= {f"testNone{number}": {"rollback": none} for number in range(2)}
        bugs |= {"testMemory": {"memory": right}}
        missed = self.missed(bugs)
        self.assertEqual(len(missed), 3)
        self.assertTrue(all("'rollback'" in text for text in missed), missed)

    def missed(self, bugs):
        with contextlib.redirect_stdout(io.StringIO()):
            return score.print_summary(bugs, bugs, is_complete=True)


class ScoreTests(unittest.TestCase):
    def test_rows(self):
        wrong, right = ("posting", {"id": 4}), ("Posting", {"ID": 3})
        self.assertEqual(scored("posting id=3", finding(wrong)), score.Score())
        self.assertEqual(scored("posting id=3", finding(wrong, right)), score.Score(1, False, True))
        self.assertEqual(scored("receipt id=4; posting id=3", finding(right)), score.Score(1, False, True))
        self.assertEqual(scored("receipt id=3", finding(right)), score.Score())
        self.assertEqual(scored("lines", finding(right)), score.Score())

    def test_lines(self):
        self.assertEqual(scored("lines", finding(source=3), finding(source=2)), score.Score(2, True))
        self.assertEqual(scored("lines", finding(source=3, caller=2)), score.Score(1, True))
        statements = [{"sql": "COMMIT"}, *({"sql": "DELETE FROM posting", **finding(source=line)} for line in (3, 2))]
        self.assertEqual(scored("lines", {**finding(), "statements": statements[:2]}), score.Score())
        self.assertEqual(scored("lines", {**finding(), "statements": statements}), score.Score(1, True))
        self.assertEqual(scored("lines", finding(source=2), lines=[("Sources/B.swift", 2)]), score.Score())

    def test_either_a_row_or_a_line(self):
        wrong, right = ("posting", {"id": 4}), ("posting", {"id": 3})
        self.assertEqual(scored("posting id=3", finding(wrong, source=2)), score.Score(1, True, False))
        self.assertEqual(scored("posting id=3", finding(right, source=2)), score.Score(1, True, True))
        # The first finding decides.
        self.assertEqual(scored("posting id=3", finding(right), finding(source=2)), score.Score(1, False, True))

    def test_codes_do_not_matter(self):
        found = finding(("posting", {"id": 3}))
        self.assertEqual(
            scored("posting id=3", {**found, "code": "orphan"}), scored("posting id=3", {**found, "code": "integrity"}))

    def test_composite_and_text_keys(self):
        row = ("budget", {"accountID": 1, "month": "2025-06"})
        self.assertEqual(scored("budget month=2025-06 accountid=1", finding(row)).rank, 1)
        self.assertIsNone(scored("budget month=2025-07 accountid=1", finding(row)).rank)

    def test_healthy_stores(self):
        findings = [finding(confidence=confidence) for confidence in ("certain", "possible", "likely")]
        false = scored("nothing", *findings, lines=()).false
        self.assertEqual([found["confidence"] for found in false], ["certain", "likely"])

    def test_totals(self):
        scores = [score.Score(1, True), score.Score(3, True), score.Score(4), score.Score()]
        self.assertEqual(list(score.totals(scores).values()), [2, 1, 2])
        self.assertEqual(list(score.totals([]).values()), [0, 0, 0])

    def test_worse_than_recorded(self):
        recorded = {"rank": 2, "line": True}
        self.assertFalse(score.is_worse(score.Score(2, True), recorded))
        self.assertTrue(score.is_worse(score.Score(3, True), recorded))
        self.assertTrue(score.is_worse(score.Score(1, False), recorded))
        self.assertTrue(score.is_worse(score.Score(None, True), recorded))
        self.assertFalse(score.is_worse(score.Score(None, False), {"rank": None, "line": False}))


if __name__ == "__main__":
    unittest.main()

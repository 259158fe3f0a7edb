"""Tests the scoreboard with made-up findings. Run it with `python3 -m unittest`."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import re
import sys
import textwrap
import unittest

sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("score", str(pathlib.Path(__file__).parent / "score"))
score = importlib.util.module_from_spec(importlib.util.spec_from_loader("score", LOADER))
# A dataclass looks its module up.
sys.modules["score"] = score
LOADER.exec_module(score)


def finding(code, confidence="likely", rows=(), line=None):
    rows = [{"table": table, "key": key, "change": "present"} for table, key in rows]
    source = {"source": {"file": "Sources/A.swift", "line": line}} if line else {}
    return {"code": code, "title": code, "confidence": confidence, "rows": rows, **source}


def scored(comment, *findings, lines=((("Sources/A.swift", 2)),)):
    expectation = score.parse_expectation(comment)
    expectation.lines = set(lines)
    return score.score(findings, expectation)


class CodeTests(unittest.TestCase):
    def test_codes_of_a_source(self):
        source = """\
            package struct Finding {
                enum Other: String { case other }
                package enum Code: String, CaseIterable {
                    // Facts.
                    case foreignKeyViolation = "foreign-key-violation"
                    case integrity
                }
                case later
            }
            """
        self.assertEqual(score.parse_codes(textwrap.dedent(source)), {"foreign-key-violation", "integrity"})

    def test_the_documented_codes(self):
        """The article lists all codes, and the comments of the tests use some of them."""
        article = (score.ROOT / "Sources/FailureArtifacts/Documentation.docc/Findings.md").read_text()
        table = article.split("### Codes")[1].split("###")[0]
        cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
        self.assertEqual(score.CODES, {code for cell in cells for code in re.findall("`(.+?)`", cell)})


class CommentTests(unittest.TestCase):
    def test_codes_and_rows(self):
        expectation = score.parse_expectation("orphan, rolled-back; posting id=3; budget accountID=1 month=2025-06")
        self.assertEqual(expectation.codes, {"orphan", "rolled-back"})
        self.assertEqual(
            expectation.rows, [("posting", {"id": "3"}), ("budget", {"accountID": "1", "month": "2025-06"})])

    def test_malformed_comments(self):
        for comment in ["orphans", "orphan; posting", "orphan; posting 3", "nothing; posting id=3", "orphan;"]:
            with self.assertRaises(ValueError, msg=comment):
                score.parse_expectation(comment)

    def test_sources(self):
        test = "// Expected: orphan\n@Test\nfunc testA() {}\n  // Expected: nothing\nfunc testB() async {}\n"
        library = "one()\ntwo()  // Culprit: testA\nthree()  // Culprit: testA\n"
        expectations, problems = score.parse_sources({"Tests/T.swift": test, "Sources/A.swift": library})
        self.assertEqual(problems, [])
        self.assertEqual(expectations["testA"].lines, {("Sources/A.swift", 2), ("Sources/A.swift", 3)})
        self.assertEqual(expectations["testB"], score.Expectation())

    def test_problems(self):
        comment, function = "// Expected: orphan\n", "func testA() {}\n"
        for source in [
            comment + function,  # without a marked line
            "a()  // Culprit: testA\n",  # without a test
            "// Expected: nothing\n" + function + "a()  // Culprit: testA\n",
            comment + function + comment + function + "a()  // Culprit: testA\n",
            comment + comment + function + "a()  // Culprit: testA\n",
            "// Expected: orphans\n" + function,
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
            {name: kinds[name] for name, expectation in expectations.items() if expectation.codes})

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
    def test_codes_without_rows(self):
        self.assertEqual(scored("busy", finding("orphan", line=2), finding("busy")), score.Score(2, False))
        self.assertEqual(scored("busy", finding("busy", rows=[("a", {"id": 1})], line=2)), score.Score(1, True))
        self.assertEqual(scored("busy; a id=1", finding("busy", line=3)), score.Score(1, False))
        self.assertEqual(scored("busy", finding("orphan")), score.Score(None, False))

    def test_rows_decide(self):
        wrong, right = ("posting", {"id": 4}), ("Posting", {"ID": 3})
        self.assertEqual(scored("orphan; posting id=3", finding("orphan", rows=[wrong])), score.Score())
        self.assertEqual(scored("orphan; posting id=3", finding("orphan", rows=[wrong, right])), score.Score(1))
        self.assertEqual(scored("orphan; posting id=3", finding("null-outlier", rows=[right])), score.Score(1))
        self.assertEqual(scored("orphan; receipt id=3", finding("orphan", rows=[right])), score.Score())
        self.assertTrue(scored("orphan; posting id=3", finding("orphan", rows=[right])).has_rows)
        self.assertFalse(scored("orphan; posting id=3", finding("orphan")).has_rows)

    def test_composite_and_text_keys(self):
        row = ("budget", {"accountID": 1, "month": "2025-06"})
        self.assertEqual(scored("no-effect; budget month=2025-06 accountid=1", finding("busy", rows=[row])).rank, 1)
        self.assertIsNone(scored("no-effect; budget month=2025-07 accountid=1", finding("busy", rows=[row])).rank)

    def test_healthy_stores(self):
        findings = finding("orphan", "certain"), finding("busy", "possible"), finding("leftover", "likely")
        codes = [found["code"] for found in scored("nothing", *findings, lines=()).false]
        self.assertEqual(codes, ["orphan", "leftover"])

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

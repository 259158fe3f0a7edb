"""`replay` on bundles of failing tests: the statements alone, and a change that the log doesn't have."""

import json
import pathlib
import tempfile

from harness import SuiteCase


class Replay(SuiteCase):
    def replay(self, bundle):
        result = bundle.tool("replay", "--json")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return result.returncode, json.loads(result.stdout)

    def test_statements_alone(self):
        status, found = self.replay(self.leaves("RawSuite.ReplayTests/testStatementsAlone"))
        self.assertEqual((status, found["result"], found["skipped"]), (0, "same", []), found)
        # The table, apple, pear, and the apple that becomes a kiwi.
        self.assertEqual((found["start"], found["replayed"], found["transactions"]), ("history", 4, 4))

    def test_small_updates(self):
        status, found = self.replay(self.leaves("RawSuite.ReplayTests/testSmallUpdates"))
        self.assertEqual((status, found["result"], found["skipped"]), (0, "same", []), found)
        self.assertEqual(found["replayed"], found["transactions"])

    def test_another_process(self):
        status, found = self.replay(self.leaves("RawSuite.ReplayTests/testAnotherProcess"))
        self.assertEqual((status, found["result"]), (1, "incomplete"), found)
        # The table, apple, pear and plum.
        (skipped,) = found["skipped"]
        self.assertEqual((skipped["transaction"], found["replayed"], found["transactions"]), (4, 4, 5))
        self.assertIn("the log has no statements", skipped["reason"])

    def test_a_redacted_bundle(self):
        with tempfile.TemporaryDirectory(prefix="integration ") as directory:
            rules = pathlib.Path(directory) / "redactions.json"
            rules.write_text(json.dumps({"columns": [{"table": "fruit", "column": "name", "method": "mask"}]}))
            bundle = self.leaves(
                "RawSuite.ReplayTests/testStatementsAlone", variables={"FAILURE_ARTIFACTS_REDACTIONS": str(rules)})
        status, found = self.replay(bundle)
        self.assertEqual(status, 1, found)
        self.assertIn(found["result"], ("incomplete", "different"))

"""Values of variables that can't be read are warnings and don't change a test's result; `ConfigurationTests` has each one."""

from harness import SuiteCase, run

FAILING = "RawSuite.CopyTests/testRowsInTheWAL"


class Variables(SuiteCase):
    def test_several_at_once(self):
        found = run(FAILING, {name: "?" for name in ("FAILURE_ARTIFACTS", "FAILURE_ARTIFACTS_MAX_BUNDLES")})
        self.assertUnchanged(found, FAILING)
        self.assertEqual(len(found.warnings), 2, found.errors)
        for warning, words in zip(found.warnings, (
                ("FAILURE_ARTIFACTS ", "'?'", "first-failure"), ("FAILURE_ARTIFACTS_MAX_BUNDLES", "'?'", "200"))):
            for word in words:
                self.assertIn(word, warning)
        self.assertTidy(found, 1)
        self.assertEqual(found.bundles[0].store("wal").rows(), ["apple", "pear"])

    def test_no_warning_where_nothing_is_captured(self):
        found = run(FAILING, {"FAILURE_ARTIFACTS": "off", "FAILURE_ARTIFACTS_MAX_BUNDLES": "?"})
        self.assertTidy(found, 0)
        self.assertEqual(found.output.count("FAILURE_ARTIFACTS"), 0)

    def test_listing_is_silent(self):
        found = run("--list-tests", {"FAILURE_ARTIFACTS": "sometimes"})
        self.assertEqual(found.errors, "")
        self.assertTidy(found, 0)

"""The capture happens inside the failure, independently of later events and of the place of the failure."""

from harness import SuiteCase, run


class FailureTime(SuiteCase):
    def scenario(self, suite, name, message, kind="assertion", module="RawSuite", **stores):
        bundle = self.left_by(f"{module}.{suite}/{name}")
        self.assertTest(bundle, suite, name, message, kind=kind)
        self.assertStores(bundle, **stores)
        return bundle

    def test_several_failures(self):
        bundle = self.left_by("RawSuite.AfterwardsTests/testSeveralFailures")
        self.assertTest(bundle, "AfterwardsTests", "testSeveralFailures", "first", "second", "third")
        self.assertStores(bundle, fruit=["apple"])
        lines = [failure["line"] for failure in bundle.metadata["failures"]]
        self.assertEqual(lines, sorted(set(lines)))

    def test_each_of_several_failures(self):
        bundle = self.leaves(
            "RawSuite.AfterwardsTests/testSeveralFailures",
            variables={"FAILURE_ARTIFACTS": "every-failure"})
        self.assertStores(bundle, fruit=["apple"])
        snapshots = [name for name in bundle.names if name.startswith("snapshots/")]
        self.assertEqual(len(snapshots), 2, bundle.names)
        for name in snapshots:
            self.check_store(bundle.contents[name])

    def test_rows_deleted_afterwards(self):
        self.scenario(
            "AfterwardsTests", "testRowsDeletedAfterwards", "deleted afterwards", fruit=["apple", "pear"])

    def test_rows_written_in_a_teardown_block(self):
        self.scenario(
            "AfterwardsTests", "testRowsWrittenInATeardownBlock", "written in a teardown block",
            fruit=["apple"])

    def test_file_deleted_in_tear_down(self):
        self.scenario(
            "DeletingTearDownTests", "testFileDeletedInTearDown", "deleted in tearDown", deleted=["apple"])

    def test_error_with_the_store_open(self):
        self.scenario(
            "ErrorTests", "testThrownWithTheStoreOpen", "no such table: vegetables", kind="error",
            thrown=["apple"])

    def test_error_with_the_store_closed(self):
        self.scenario(
            "ErrorTests", "testThrownWithTheStoreClosed", "no such table: vegetables", kind="error",
            thrown=["apple"])

    def test_failure_in_a_teardown_block(self):
        self.scenario(
            "TeardownBlockTests", "testFailureInATeardownBlock", "in a teardown block",
            block=["apple", "pear"])

    def test_failure_after_an_await(self):
        self.scenario("ThreadTests", "testFailureAfterAnAwait", "after an await", **{"async": ["apple", "pear"]})

    def test_error_after_an_await(self):
        self.scenario(
            "ThreadTests", "testErrorAfterAnAwait", "no such table: vegetables", kind="error",
            **{"async": ["apple"]})

    def test_failure_on_another_thread(self):
        self.scenario("ThreadTests", "testFailureOnAnotherThread", "on another thread", thread=["apple"])

    def test_nothing_fails(self):
        for name in ("testPasses", "testSkips"):
            self.assertEqual(self.leaves(f"RawSuite.QuietTests/{name}", count=0), [])

    def test_failure_without_a_store(self):
        self.scenario("QuietTests", "testFailsWithoutAStore", "no store at all")

    def test_one_failure_has_one_fingerprint(self):
        def fingerprint(name):
            (bundle,) = run(f"RawSuite.AfterwardsTests/{name}").bundles
            return bundle.metadata["fingerprint"]

        self.assertEqual(fingerprint("testSeveralFailures"), fingerprint("testSeveralFailures"))
        self.assertNotEqual(fingerprint("testSeveralFailures"), fingerprint("testRowsDeletedAfterwards"))

"""Many stores: all of them if there is space, and no traces of stores in passing tests."""

from harness import SuiteCase, run

FIFTY = "RawSuite.ManyStoresTests/testFiftyOpenStores"


class Many(SuiteCase):
    def test_fifty_open_stores(self):
        bundle = self.leaves(FIFTY)
        stores = {f"store-{number}": ["apple", str(number)] for number in range(50)}
        self.assertStores(bundle, **stores)
        for store in bundle.metadata["stores"]:
            self.assertIs(store["capture"]["consistent"], True)
        self.assertEqual(bundle.metadata["capture"]["limitsHit"], [])

    def test_fifty_open_stores_and_little_room(self):
        """Each store has about 36 KB, of which 20 KB are incompressible."""
        limit = 500_000
        found = run(FIFTY, {
            "FAILURE_ARTIFACTS_MAX_TOTAL_BYTES": str(limit), "FAILURE_ARTIFACTS_HISTORY": "off"})
        self.assertUnchanged(found, FIFTY)
        (bundle,) = found.bundles
        self.check(bundle)
        self.assertLess(bundle.size, limit)
        stores = bundle.metadata["stores"]
        self.assertEqual(len(stores), 50)
        copied = [store for store in stores if "entry" in store]
        self.assertGreater(len(copied), 5)
        self.assertLessEqual(sum(store["bytes"]["copy"] for store in copied), limit)
        for store in copied:
            number = store["originalPath"].rpartition("-")[2].removesuffix(".sqlite")
            self.assertEqual(bundle.store(f"store-{number}").rows(), ["apple", number])
        for store in stores:
            if "entry" not in store:
                self.assertEqual(store["capture"]["method"], "described")
                self.assertTrue(store["capture"]["reason"].endswith("."))
        self.assertEqual(bundle.metadata["capture"]["limitsHit"], ["FAILURE_ARTIFACTS_MAX_TOTAL_BYTES"])

    def test_passing_tests_leave_nothing(self):
        """No memory and no descriptors are left; the tests themselves check that."""
        found = run("RawSuite.ManyStoresTests/test1Passes,RawSuite.ManyStoresTests/test2PassesToo")
        self.assertEqual(found.status, 0, found.output)
        self.assertIn("Executed 2 tests, with 0 failures", found.output)
        self.assertTidy(found, 0)

    def test_a_vfs_of_the_application(self):
        bundle = self.leaves("RawSuite.DefaultFileSystemTests/testHasAVFSOfItsOwn")
        self.assertStores(bundle, ours=["apple"])
        self.assertEqual(bundle.described("ours")["vfs"], "application")

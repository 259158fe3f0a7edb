"""Stores are discovered without registration, and other code's use of SQLite is not disturbed."""

import pathlib

from harness import LEFT_READERS, Store, SuiteCase, fresh_directory, label, openers, run


class Discovery(SuiteCase):
    def test_a_shared_store_belongs_to_every_failing_test(self):
        second, third = self.leaves("RawSuite.SharedStoreTests", count=2)
        self.assertTest(second, "SharedStoreTests", "test2FailsLater", "shared, second test")
        self.assertStores(second, shared=["apple", "pear"], own=["plum"])
        self.assertTest(third, "SharedStoreTests", "test3FailsAgain", "shared, third test")
        self.assertStores(third, shared=["apple", "pear", "fig"])

    def test_the_file_is_gone(self):
        bundle = self.leaves("RawSuite.VanishedTests/testDeletedWhileOpen", warnings=1)
        self.assertTest(bundle, "VanishedTests", "testDeletedWhileOpen", "the file is gone")
        self.assertEqual([label(store) for store in bundle.metadata["stores"]], ["gone"])
        store = bundle.described("gone")
        if "entry" in store:
            self.assertEqual(bundle.store("gone").rows(), ["apple"])
        else:
            self.assertEqual(store["capture"]["method"], "described")
            self.assertTrue(store["capture"]["reason"].endswith("."))

    def test_a_closed_store_that_was_deleted(self):
        bundle = self.leaves("RawSuite.VanishedTests/testDeletedAfterClosing")
        self.assertTest(bundle, "VanishedTests", "testDeletedAfterClosing", "one of two files is gone")
        self.assertEqual(bundle.store("kept").rows(), ["pear"])
        self.assertNotIn("deleted", bundle.described("kept"))
        self.assertEqual(bundle.store("gone").rows(), ["apple"])
        self.assertIs(bundle.described("gone")["deleted"], True)

    def test_many_closed_stores_that_were_deleted(self):
        bundle = self.leaves("RawSuite.VanishedTests/testManyDeletedAfterClosing")
        self.assertEqual(bundle.store("kept").rows(), ["pear"])
        self.assertEqual(len(bundle.metadata["stores"]), 26)
        self.assertTrue(all("entry" in store for store in bundle.metadata["stores"]))

    def test_deleted_stores_of_an_earlier_test(self):
        bundle = self.leaves("RawSuite.LeftStoreTests", warnings=1)
        self.assertTest(bundle, "LeftStoreTests", "test2FailsAfterTheirEnd", "left by the first test")
        self.assertEqual({label(store) for store in bundle.metadata["stores"]}, {"own", "used"})
        self.assertEqual(bundle.store("own").rows(), ["plum"])
        used = bundle.described("used")
        self.assertEqual(used["capture"]["method"], "described")
        self.assertIn(b"SELECT count(*) FROM fruit", bundle.contents[used["statements"]["entry"]])

    def test_stores_that_earlier_tests_left_open(self):
        used, last = self.leaves("RawSuite.LeftOpenTests", count=2)
        self.assertTest(used, "LeftOpenTests", "test3Fails", "what the second test has left")
        opener = {"suite": "LeftOpenTests", "name": "test2LeavesForOthers"}
        found = sorted(
            (label(store), Store(used.contents[store["entry"]]).rows(), store.get("shared"), store.get("openedBy"))
            for store in used.metadata["stores"])
        self.assertEqual(found, [
            ("memory", ["grape"], True, opener), ("memory", ["pear", "fig"], True, opener),
            ("of-the-class", ["banana"], True, None), ("own", ["plum"], None, None),
            ("unwatched", ["pear"], True, opener), ("used", ["pear", "fig"], True, opener)])
        self.assertTest(last, "LeftOpenTests", "test4Fails", "uses nothing of other tests")
        # It isn't known whether the test has used the stores whose trace was replaced.
        self.assertStores(
            last, last=["kiwi"], unwatched=["pear"], memory=["grape"], **{"of-the-class": ["banana"]})
        self.assertEqual(openers(last), {
            "last": (None, None), "unwatched": (True, opener), "memory": (True, opener),
            "of-the-class": (True, None)})

    def test_a_reader_that_an_earlier_test_left(self):
        """Its thread goes on while no test runs; a thread that runs statements on request doesn't."""
        own, pool, lock, *others = self.leaves(LEFT_READERS, count=5)
        self.assertStores(own, own=["plum"])
        self.assertStores(pool, pool=["pear"])
        for bundle in own, pool:
            other, = bundle.metadata["otherStores"]
            self.assertTrue(other["path"].endswith("endless.sqlite"))
            self.assertTrue(other["reason"].startswith("EndlessReaderTests.test1LeavesReaders left it open."))
        self.assertStores(lock, endless=["pear"], own=["plum"])
        for bundle in others:
            self.assertStores(bundle, endless=["pear"])
        for bundle in lock, *others:
            self.assertNotIn("otherStores", bundle.metadata)

    def test_without_statements_a_use_is_known(self):
        used, _ = self.leaves(
            "RawSuite.LeftOpenTests", count=2, variables={"FAILURE_ARTIFACTS_STATEMENTS": "0"})
        self.assertEqual(used.store("used").rows(), ["pear", "fig"])

    def test_discovery_off(self):
        bundle = self.leaves(
            "RawSuite.CopyTests/testSeveralStores", variables={"FAILURE_ARTIFACTS_DISCOVERY": "off"})
        self.assertEqual(bundle.metadata["stores"], [])

    def test_the_application_configures_sqlite(self):
        name = "testConfiguresAndShutsDownBeforeTheFirstOpen"
        bundle = self.leaves(f"RawSuite.ApplicationTests/{name}")
        self.assertTest(bundle, "ApplicationTests", name, "configured by the application")
        self.assertEqual(bundle.store("configured").rows(), ["apple"])

    def test_the_application_sets_trace_hooks_and_functions(self):
        name = "testSetsItsOwnTraceHooksAndFunctions"
        bundle = self.leaves(f"RawSuite.ApplicationTests/{name}")
        self.assertTest(bundle, "ApplicationTests", name, "hooked by the application")
        self.assertEqual(bundle.store("hooked").rows(), ["apple", "42"])

    def test_grdb_logs_errors(self):
        bundle = self.leaves("GRDBSuite.LogTests/testErrorsAreLogged")
        self.assertTest(bundle, "LogTests", "testErrorsAreLogged", "logged by GRDB")
        self.assertStores(bundle, logged=["apple"])


class Frameworks(SuiteCase):
    """Databases that were open before the first test, and that no test uses."""

    CACHE = "Library/Caches/com.example.app/Cache.db"
    CERTIFICATES = ".pki/nssdb/cert9.db"
    APP = "Library/Application Support/app.sqlite"

    def setUp(self):
        self.home = fresh_directory(self)

    def fails(self, *stores):
        paths = [self.home / store for store in stores]
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
        bundle = self.leaves(
            "RawSuite.FrameworkTests/testFailsBesideThem",
            variables={"SUITE_FRAMEWORK_STORES": ":".join(map(str, paths))})
        for path in paths:
            self.assertTrue(path.is_file(), f"{path} was not opened")
        return bundle

    def check_names(self, bundle):
        self.assertEqual(
            {store["path"]: store["reason"] for store in bundle.metadata["otherStores"]},
            {str(self.home / self.CACHE): "It is the cache of URLSession.",
             str(self.home / self.CERTIFICATES): "It has the certificates and keys of the library NSS."})

    def test_they_are_named_and_not_captured(self):
        for stores in ((self.CACHE, self.CERTIFICATES, self.APP), (self.APP, self.CERTIFICATES, self.CACHE)):
            with self.subTest(stores[0]):
                bundle = self.fails(*stores)
                self.assertStores(bundle, own=["apple"], app=["of a framework"])
                self.assertIs(bundle.described("app")["shared"], True)
                self.check_names(bundle)
                self.assertFalse(
                    [name for name in bundle.names if "Cache" in name or "cert9" in name], "captured under some name")

    def test_show_lists_them_on_request(self):
        bundle = self.fails(self.CACHE, self.CERTIFICATES)
        short, long = bundle.tool("show").stdout, bundle.tool("show", "--all").stdout
        self.assertIn("Not captured: 2 other stores that the process had open (--all lists them)\n", short)
        self.assertNotIn("cert9.db", short)
        self.assertIn(f"Not captured\n  {self.home / self.CERTIFICATES}\n    It has the certificates", long)
        self.assertIn(f"  {self.home / self.CACHE}\n    It is the cache of URLSession.\n", long)


class Names(SuiteCase):
    def test_japanese(self):
        name = "test_CoreData内の果物を更新できる"
        bundle = self.leaves(f"RawSuite.NameTests/{name}")
        self.assertTest(bundle, "NameTests", name, "a name")
        self.assertStores(bundle, fruit=["apple"])

    def test_too_long(self):
        listed = run("RawSuite.NameTests", {"FAILURE_ARTIFACTS": "off"}).output
        name = next(word for word in listed.replace("'", " ").split() if "とても長い" in word).split(".")[1]
        bundle = self.leaves(f"RawSuite.NameTests/{name}")
        self.assertEqual(bundle.metadata["test"]["name"], name)
        self.assertTrue(f"NameTests.{name}".startswith(bundle.stem))
        self.assertGreater(len(bundle.path.name.encode()), 190)


class Explicit(SuiteCase):
    def test_registered_only(self):
        bundle = self.leaves(
            "ExplicitSuite.RegistrationTests/testRegistersOneOfTwo",
            variables={"FAILURE_ARTIFACTS_DISCOVERY": "off"})
        self.assertTest(bundle, "RegistrationTests", "testRegistersOneOfTwo", "one of two is registered")
        self.assertStores(bundle, registered=["apple"])
        self.assertEqual(bundle.described("registered")["name"], "larder")

    def test_registered_and_found(self):
        bundle = self.leaves("ExplicitSuite.RegistrationTests/testRegistersOneOfTwo")
        self.assertStores(bundle, registered=["apple"], other=["pear"])

    def test_attachments(self):
        bundle = self.leaves("ExplicitSuite.AttachmentTests/testAttaches")
        self.assertTest(bundle, "AttachmentTests", "testAttaches", "with attachments")
        attached = {
            item["name"]: bundle.contents[item["entry"]].decode() for item in bundle.metadata["attachments"]}
        self.assertEqual(attached, {"request.json": "{}", "log.txt": "a file", "../outside": "data"})
        for item in bundle.metadata["attachments"]:
            self.assertRegex(item["entry"], r"^attachments/[^/]+$")

    def test_attachments_of_a_passing_test(self):
        self.assertEqual(self.leaves("ExplicitSuite.AttachmentTests/testAttachesAndPasses", count=0), [])

    def test_installed_by_hand(self):
        selection = "ExplicitSuite.InstallationTests/testInstallsTwice"
        bundle = self.leaves(selection, at="elsewhere")
        self.assertTest(bundle, "InstallationTests", "testInstallsTwice", "installed by hand")
        self.assertStores(bundle, installed=["apple"])

    def test_installed_while_the_first_of_several_tests_runs(self):
        """The environment turns the product off, and a test's set-up turns it on for the following tests."""
        selection = "ExplicitSuite.LateInstallationTests"
        found = run(selection, {"FAILURE_ARTIFACTS": "off", "SUITE_INSTALLS": "yes"})
        self.assertUnchanged(found, selection)
        self.assertEqual((found.status, found.warnings), (1, []))
        self.assertEqual(
            [bundle.metadata["test"]["name"] for bundle in found.bundles], ["testCFails", "testDFailsLater"])
        next_one, _ = found.bundles
        self.assertStores(next_one, earlier=["kiwi"], next=["fig"])
        # Stores that an earlier test opened and closed don't count.
        self.assertFalse(any(store.get("shared") for store in next_one.metadata["stores"]))

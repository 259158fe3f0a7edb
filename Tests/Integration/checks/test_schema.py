"""The published schema describes `metadata.json` completely, and refuses other content."""

import copy
import unittest

from harness import SuiteCase, validator

SELECTIONS = ("RawSuite.CopyTests/testSeveralStores", "ExplicitSuite.AttachmentTests/testAttaches")


def paths(value, path=()):
    """The path of every key in a JSON document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from paths(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths(inner, (*path, index))


def changed(document, path, change):
    """A copy of the document in which `change` was applied to the parent of the path's last key."""
    result = copy.deepcopy(document)
    holder = result
    for key in path[:-1]:
        holder = holder[key]
    change(holder, path[-1])
    return result


def replace(holder, key):
    """Replaces a value by one of another type."""
    holder[key] = "text" if isinstance(holder[key], (dict, list)) else {}


class StatementSchema(unittest.TestCase):
    """The schema of a line of `statements/<name>.jsonl`."""

    statement = {
        "at": "2026-11-21T07:08:09.123456Z", "order": 1, "connection": 1, "thread": "7f", "phase": "test", "sql": "SELECT 1",
        "cut": True, "changes": 0, "ownChanges": 0, "duration": 0.5, "error": {"code": 19, "message": ""}, "fullScanSteps": 1, "sorts": 0,
        "autoIndexes": 2, "commits": 1, "leftOpen": True, "queryPlan": ["SCAN a"], "pages": 3, "versions": 1,
        "source": {"file": "Sources/..a/b.swift", "line": 1, "function": "f()"},
        "callers": [{"file": "Tests/a.swift", "line": 2}], "longValues": True, "repeated": 3, "lastOrder": 9, "test": 1,
        "values": [None, 1, 1.5, "a", {"real": 3.0}, {"base64": "AA=="}, {"text": "b", "bytes": 9000}]}

    def test_every_key_is_described(self):
        schema = validator().schema["$defs"]
        self.assertEqual(set(schema["statement"]["properties"]), set(self.statement))
        self.assertEqual(set(schema["source"]["properties"]), set(self.statement["source"]))
        self.assertTrue(validator("statement").is_valid(self.statement))
        required = {key: self.statement[key] for key in schema["statement"]["required"]}
        self.assertTrue(validator("statement").is_valid({**required, "at": "2026-11-21T07:08:09.123Z", "unknown": 1}))

    def test_other_values_are_refused(self):
        for path in paths(self.statement):
            with self.subTest(path=path):
                self.assertFalse(validator("statement").is_valid(changed(self.statement, path, replace)))
        for file in ("/a.swift", "../a.swift", "a/../b.swift", "a/..", "./a.swift", ""):
            with self.subTest(file=file):
                wrong = changed(self.statement, ("source", "file"), lambda holder, key: holder.__setitem__(key, file))
                self.assertFalse(validator("statement").is_valid(wrong))


class Schema(SuiteCase):
    def setUp(self):
        self.documents = [self.leaves(selection).metadata for selection in SELECTIONS]

    def described(self, path):
        """The schema's description of a path."""
        schema = validator().schema
        node = schema
        for key in path:
            while "$ref" in node:
                node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
            node = node["items"] if isinstance(key, int) else node.get("properties", {}).get(key)
            if node is None:
                return None
        return node

    def test_every_key_is_described(self):
        for document in self.documents:
            for path in paths(document):
                if "variables" not in path:
                    self.assertIsNotNone(self.described(path), path)

    def test_a_value_of_another_type_is_refused(self):
        for document in self.documents:
            for path in paths(document):
                if "variables" in path:
                    continue
                with self.subTest(path=path):
                    wrong = changed(document, path, replace)
                    self.assertFalse(validator().is_valid(wrong))

    def test_a_missing_key_is_refused(self):
        # Format 1.0 has no tool, and a test need not be in a package.
        required = {*validator().schema["required"], "tool"}
        self.assertEqual({*required, "packageRoot", "tests"}, set(self.documents[0]))
        for key in required:
            wrong = changed(self.documents[0], (key,), lambda holder, name: holder.pop(name))
            self.assertFalse(validator().is_valid(wrong), key)

    def test_unknown_keys_are_allowed(self):
        document = copy.deepcopy(self.documents[0])
        document["stores"][0]["colour"] = 1
        self.assertTrue(validator().is_valid(document))

    def test_the_older_form_is_allowed(self):
        document = copy.deepcopy(self.documents[0])
        document.update(formatVersion="1.0", warnings=["A sentence."])
        del document["tool"]
        self.assertTrue(validator().is_valid(document))

    def test_warnings(self):
        for warning, is_valid in [
            ({"code": "other-writer", "text": "A sentence.", "path": "/a", "process": 1}, True),
            ({"text": "A sentence."}, False), ({"code": "other-writer"}, False),
            ({"code": "Other writer", "text": "A sentence."}, False),
            ({"code": "other-writer", "text": "A sentence.", "path": ["/a"]}, False), ("", False),
        ]:
            with self.subTest(warning=warning):
                document = copy.deepcopy(self.documents[0])
                document["warnings"] = [warning]
                self.assertEqual(validator().is_valid(document), is_valid)

    def test_values_that_make_no_sense_are_refused(self):
        for path, value in [
            (("formatVersion",), "2.0"), (("formatVersion",), "1"), (("outcome",), "passed"),
            (("test", "attempt"), 0), (("test", "suite"), ""), (("stores", 0, "entry"), "/etc/passwd"),
            (("stores", 0, "entry"), "stores/../x.sqlite"), (("stores", 0, "pageSize"), 3),
            (("stores", 0, "bytes", "copy"), -1), (("capture", "at"), "yesterday"),
            (("failures", 0, "line"), 0), (("failures",), []),
        ]:
            with self.subTest(path=path, value=value):
                wrong = changed(self.documents[0], path, lambda holder, key: holder.__setitem__(key, value))
                self.assertFalse(validator().is_valid(wrong))

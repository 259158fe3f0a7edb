"""The requirements of readers of JUnit XML.

There is no standard. These are the rules of the schema that Jenkins' xUnit plugin validates with,
https://github.com/jenkinsci/xunit-plugin, src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd/junit-10.xsd,
and the behavior of GitLab: https://docs.gitlab.com/ci/testing/unit_test_reports/.
"""

import re
import xml.etree.ElementTree as tree

TIME = r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]{0,3})?"
ANY = ".*"
RESULT = {"failure", "error", "skipped"}
RERUN = {"rerunFailure", "rerunError", "flakyFailure", "flakyError"}
OUTPUTS = {"system-out", "system-err"}

# For each element: its attributes with their patterns, the required ones, its children, and True if it may
# have text.
ELEMENTS = {
    "testsuites": (
        {"name": ANY, "time": TIME, "tests": ANY, "failures": ANY, "errors": ANY}, set(), {"testsuite"}, False),
    "testsuite": (
        {"name": ANY, "tests": ANY, "failures": ANY, "errors": ANY, "group": ANY, "time": TIME, "skipped": ANY,
         "timestamp": ANY, "hostname": ANY, "id": ANY, "package": ANY, "file": ANY, "log": ANY, "url": ANY,
         "version": ANY},
        {"name", "tests", "failures", "errors"}, {"testsuite", "properties", "testcase", *OUTPUTS}, False),
    "properties": ({}, set(), {"property"}, False),
    "property": ({"name": ANY, "value": ANY}, {"name", "value"}, set(), False),
    "testcase": (
        {"name": ANY, "time": ANY, "classname": ANY, "group": ANY}, {"name"}, {*RESULT, *RERUN, *OUTPUTS}, False),
    **{name: ({"type": ANY, "message": ANY}, set(), set(), True) for name in RESULT},
    **{name: ({"type": ANY, "message": ANY}, {"type"}, {"stackTrace", *OUTPUTS}, True) for name in RERUN},
    **{name: ({}, set(), set(), True) for name in (*OUTPUTS, "stackTrace")},
}
# The children that must come in this order, each at most once.
SEQUENCES = {name: ["stackTrace", "system-out", "system-err"] for name in RERUN}


def problems(text):
    """The violations of the rules; none for a valid document."""
    try:
        root = tree.fromstring(text)
    except tree.ParseError as error:
        return [f"not XML: {error}"]
    if root.tag not in ("testsuites", "testsuite"):
        return [f"the outermost element is {root.tag}"]
    return [*of_schema(root), *of_readers(root)]


def of_schema(element):
    if element.tag not in ELEMENTS:
        yield f"there is no element {element.tag}"
        return
    attributes, needed, children, has_text = ELEMENTS[element.tag]
    for name, value in element.attrib.items():
        if name not in attributes:
            yield f"{element.tag} has no attribute {name}"
        elif not re.fullmatch(attributes[name], value, re.DOTALL):
            yield f"{name} of {element.tag} is {value!r}"
    for name in needed - set(element.attrib):
        yield f"{element.tag} needs {name}"
    if not has_text and any((text or "").strip() for text in (element.text, *(child.tail for child in element))):
        yield f"{element.tag} has text"
    order = SEQUENCES.get(element.tag)
    if order:
        places = [order.index(child.tag) for child in element if child.tag in order]
        if places != sorted(set(places)):
            yield f"what is in {element.tag} is out of order"
    for child in element:
        if child.tag not in children:
            yield f"{child.tag} is in {element.tag}"
        yield from of_schema(child)


def of_readers(root):
    suites = list(root.iter("testsuite"))
    for suite in suites:
        cases = suite.findall("testcase")
        counted = {
            "tests": len(cases), "failures": sum(case.find("failure") is not None for case in cases),
            "errors": sum(case.find("error") is not None for case in cases),
            "skipped": sum(case.find("skipped") is not None for case in cases),
        }
        for name, count in counted.items():
            if int(suite.get(name, count)) != count:
                yield f"{suite.get('name')} has {count} {name}, not {suite.get(name)}"
    if root.tag == "testsuites":
        for name in ("tests", "failures", "errors"):
            if int(root.get(name, -1)) != sum(int(suite.get(name)) for suite in suites):
                yield f"{name} of all suites is {root.get(name)}"
    seen = set()
    for case in root.iter("testcase"):
        # GitLab keeps only the first case of a name, and both services read only one result.
        name = (case.get("classname"), case.get("name"))
        if name in seen:
            yield f"{name} is there twice"
        seen.add(name)
        if sum(child.tag in RESULT for child in case) > 1:
            yield f"{name} has several results"
        # A reader takes only the first one.
        if sum(child.tag == "system-out" for child in case) > 1:
            yield f"{name} has several outputs"


def attachments(text):
    """All attachments, by the tests' names. GitLab shows the first one of a failed test."""
    return {
        case.get("name"): re.findall(r"\[\[ATTACHMENT\|(.+?)\]\]", case.findtext("system-out") or "")
        for case in tree.fromstring(text).iter("testcase")
    }


def results(text):
    """The result of each test: the children of its element except outputs, or `passed`."""
    found = {}
    for case in tree.fromstring(text).iter("testcase"):
        kinds = [child.tag for child in case if child.tag not in OUTPUTS]
        found[f"{case.get('classname')}/{case.get('name')}"] = kinds or ["passed"]
    return found

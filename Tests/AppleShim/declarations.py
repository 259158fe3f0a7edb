"""Reads the stand-ins for Apple's modules, and compares them with the sources and with the table in Calls.md."""

import re

PAGE = re.compile(r"^\s*// (?:not read: )?https://developer\.apple\.com/documentation/\S+$")
SELECTOR = re.compile(r"^\s*// @objc\((\S+)\)$")
MEMBER = re.compile(r"^\s*(?:(?:public|open) )?(?:convenience |required |static |class )*(func|var|let|typealias|init)\b[ ]?(\w*)(.*)")
TYPE = re.compile(r"^\s*(?:public|open) (?:final )?(?:class|struct|enum|protocol) (?!func\b|var\b)(\w+)")
CASE = re.compile(r"^\s*case (\w+)")
EXTENSION = re.compile(r"^extension ([\w.]+)")


class Declaration:
    """A declaration of a stand-in: its name with its type and labels, and the comments before it."""

    def __init__(self, owner, kind, name, labels, comments, place):
        self.owner, self.kind, self.name, self.labels, self.place = owner, kind, name, labels, place
        self.has_page = any(PAGE.match(line) for line in comments)
        self.selector = next((match[1] for match in map(SELECTOR.match, comments) if match), None)
        base = f"{name}({''.join(label + ':' for label in labels)})" if kind in ("func", "init") else name
        self.key = f"{owner}.{base}" if owner else base

    def pattern(self):
        """A regular expression for the uses."""
        if self.kind == "init":
            first = self.labels[0] if self.labels else ""
            return re.compile(rf"((?:\b{self.owner.split('.')[-1]}(?:<\w+>)?|\bP|\binit)\(\s*)({first})(?=:)") if first else None
        if self.kind == "type" or not self.owner:
            return re.compile(rf"(^|[^\w.])({self.name})\b", re.M)
        return re.compile(rf"(\.|\bfunc |\bvar )({self.name})\b")


def labels(text):
    """The argument labels of a parameter list that starts at the first parenthesis."""
    depth, start, found = 0, None, []
    for index, character in enumerate(text):
        if character in "([":
            depth += 1
            if depth == 1:
                start = index + 1
        elif character in ")]":
            depth -= 1
            if depth == 0:
                found.append(text[start:index])
                break
        elif character == "," and depth == 1:
            found.append(text[start:index])
            start = index + 1
    return [part.split()[0].rstrip(":") for part in found if part.strip()]


def read(path):
    """Returns the declarations of a stand-in."""
    lines = path.read_text().splitlines()
    found, owners, comments = [], [], []
    depth = 0
    for number, line in enumerate(lines):
        place = f"{path.name}:{number + 1}"
        if line.strip().startswith("//"):
            comments.append(line)
            continue
        owner = ".".join(name for name, _ in owners)
        # What is deeper is the body of a function or an accessor.
        if depth == len(owners):
            whole = line if "(" not in line else " ".join(lines[number:number + 8])
            if match := EXTENSION.match(line):
                owners.append((match[1], depth))
            elif match := TYPE.match(line):
                found.append(Declaration(owner, "type", match[1], [], comments, place))
                if line.count("{") > line.count("}"):
                    owners.append((match[1], depth))
            elif match := CASE.match(line):
                found.append(Declaration(owner, "case", match[1], [], comments, place))
            elif (match := MEMBER.match(line)) and not re.search("(let |init\\()rawValue", line):
                kind, name = match[1], match[2] or "init"
                arguments = labels(whole[whole.index("("):]) if kind in ("func", "init") else []
                found.append(Declaration(owner, kind, name, arguments, comments, place))
        depth += line.count("{") - line.count("}")
        while owners and depth <= owners[-1][1]:
            owners.pop()
        comments = []
    return found


def apple_branches(text):
    """Returns a source without the code for other platforms; lines keep their numbers."""
    lines, keeps = [], []
    for line in text.splitlines():
        word = line.strip().split(" ", 1)
        if word[0] == "#if":
            keeps.append("os(Linux)" not in line and "!canImport" not in line)
        elif word[0] == "#else":
            keeps[-1] = not keeps[-1]
        elif word[0] == "#endif":
            keeps.pop()
            lines.append("")
            continue
        lines.append(line if all(keeps) and not word[0].startswith("//") else "")
    return "\n".join(lines)


def uses(declaration, text):
    """Returns true if the code for Apple platforms uses a declaration."""
    text = apple_branches(text)
    pattern = declaration.pattern()
    return bool(pattern and pattern.search(text)) or (
        pattern is None and declaration.owner.split(".")[-1] + "(" in text)


def table(text):
    """Returns the names in the first column of the table."""
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def steps(text):
    """Returns the tests that the last column of the table names."""
    cells = [line.rsplit("|", 2)[1] for line in text.splitlines() if line.startswith("| ") and "*" in line]
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def missing(declarations, text):
    """Returns the declarations that the table doesn't list; a type is listed with any of its members."""
    names = table(text)
    types = {name.rsplit(".", 1)[0] for name in names if "." in name.split("(")[0]}
    return [one.key for one in declarations
            if one.key not in names and not (one.kind == "type" and one.key in types)]


def unknown(declarations, text):
    """Returns the Apple names in the table that no declaration has."""
    keys = {one.key for one in declarations}
    return sorted(name for name in table(text) if re.match(r"(NS|XCT)\w", name) and name not in keys)


def selectors(text):
    """Returns the selectors that a source spells out, each with the start of its method."""
    found = re.findall(r"@objc\(([\w:]+)\)\s*(?:\w+ )*func (\w+)\(([^)]*)\)", text)
    return {(selector, name, tuple(labels(f"({parameters})"))) for selector, name, parameters in found}

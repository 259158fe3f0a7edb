"""Runs a composite action's steps like GitHub's runner, with the features that this project's action uses."""

import collections
import pathlib
import re
import subprocess

import yaml

URL = "https://github.example/octo/app/actions/runs/1658821493/artifacts/7"
PAGE_URL = "https://github.example/octo/app/actions/runs/1658821493/artifacts/8"

# The runner's commands: `IActionCommandExtension` in
# https://github.com/actions/runner/blob/main/src/Runner.Worker/ActionCommandManager.cs.
COMMANDS = {
    "internal-set-repo-path", "set-env", "set-output", "save-state", "add-path", "add-mask", "add-matcher",
    "remove-matcher", "warning", "error", "notice", "debug", "group", "endgroup", "echo",
}


# The actions in use. Each is pinned to the commit of its current version, because a tag can be moved.
PINS = {
    "actions/checkout": "3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",
    "actions/upload-artifact": "043fb46d1a93c77aae656e7c1c64a875d1fc6a0a # v7.0.1",
    "actions/cache/restore": "55cc8345863c7cc4c66a329aec7e433d2d1c52a9 # v6.1.0",
    "actions/cache/save": "55cc8345863c7cc4c66a329aec7e433d2d1c52a9 # v6.1.0",
    "actions/download-artifact": "3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1",
    "actions/attest": "1e69f48acb82d1966a394da916b4c1698aa569d6 # v4.2.2",
}


def pin_problems(text):
    """The actions in a workflow that are not pinned to their current version."""
    actions = re.findall(r"^[ \t-]*uses: *([^@\s]+)@?(.*)$", text, re.MULTILINE)
    # For this project's own action, users choose the version. "$/" is this repository.
    return [
        f"{action}@{version}" for action, version in actions
        if not action.startswith(("$/", "OWNER/failure-artifacts/")) and PINS.get(action) != version]


class Log:
    """Reads a step's output, and records the commands that the runner obeys."""

    def __init__(self):
        self.obeyed = []
        self.token = None

    def read(self, line):
        known = {*COMMANDS, "stop-commands", *([self.token] if self.token else [])}
        found = parse(line, known) or parse_old(line, known)
        if not found:
            return
        command, properties, data = found
        if self.token:
            if command.lower() == self.token.lower():
                self.token = None
        elif command == "stop-commands":
            assert data and data not in known and data != "pause-logging", f"the runner refuses the token {data!r}"
            self.token = data
        else:
            self.obeyed.append((command, properties, data))


def parse(line, known):
    """`::command key=value,…::data` at a line's start: `TryParseV2` of ActionCommand.cs."""
    line = line.lstrip()
    end = line.find("::", 2)
    if not line.startswith("::") or end < 0:
        return None
    command, _, rest = line[2:end].partition(" ")
    if command not in known:
        return None
    properties = {}
    for pair in rest.strip().split(","):
        key, is_pair, value = pair.partition("=")
        if is_pair and value:
            properties[key] = decoded(value, {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"})
    return command, properties, decoded(line[end + 2:], {"%0D": "\r", "%0A": "\n", "%25": "%"})


def parse_old(line, known):
    """`##[command key=value;…]data` anywhere in a line: `TryParse`."""
    start = line.find("##[")
    end = line.find("]", start)
    if start < 0 or end < 0:
        return None
    command, _, _ = line[start + 3:end].partition(" ")
    return (command, {}, line[end + 1:]) if command in known else None


def decoded(text, codes):
    for code, character in codes.items():
        text = text.replace(code, character)
    return text


class Action:
    def __init__(self, path, place, inputs):
        self.definition = yaml.safe_load(path.read_text())
        self.place = place
        unknown = set(inputs) - set(self.definition["inputs"])
        assert not unknown, f"the action has no inputs {unknown}"
        self.steps = collections.defaultdict(dict)
        self.inputs = {}
        self.inputs = {
            name: inputs.get(name, self.expand(about["default"]))
            for name, about in self.definition["inputs"].items()
        }
        self.outcomes = {}
        self.uploads = []
        self.before = {}
        self.log = ""
        self.obeyed = []
        self.obeyed_in = {}
        self.is_cancelled = False

    def run(self):
        has_failed = False
        for step in self.definition["runs"]["steps"]:
            name = step["id"]
            condition = step.get("if", "success()")
            if not self.condition(condition, has_failed):
                self.outcomes[name] = "skipped"
                continue
            self.outcomes[name] = "success"
            if step.get("uses", "").startswith("actions/cache/"):
                self.cache(step)
            elif "uses" in step:
                self.upload(step)
            elif self.shell(step) != 0:
                self.outcomes[name] = "failure"
                has_failed = True

    def outputs(self):
        return {name: self.expand(about["value"]) for name, about in self.definition["outputs"].items()}

    def shell(self, step):
        assert step["shell"] == "bash"
        file = self.place.bin / f"{step['id']}.sh"
        file.write_text(self.before.get(step["id"], lambda script: script)(step["run"]))
        output = self.place.bin / f"{step['id']}.output"
        output.touch()
        variables = {name: self.expand(value) for name, value in step.get("env", {}).items()}
        directory = self.place.directory / self.expand(step.get("working-directory", "."))
        process = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(file)], cwd=directory,
            env={**self.place.environment, **variables, "GITHUB_OUTPUT": str(output)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        text = process.stdout.decode(errors="replace")
        self.log += text
        log = Log()
        for line in re.split(r"\r\n|\n|\r", text):
            log.read(line)
        assert log.token is None, f"after the step {step['id']} the runner still obeys nothing"
        self.obeyed += log.obeyed
        self.obeyed_in[step["id"]] = log.obeyed
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            self.steps[step["id"]][name] = value
        return process.returncode

    def cache(self, step):
        """Does the work of actions/cache/restore and actions/cache/save, with the entries of the place."""
        options = {name: self.expand(value) for name, value in step["with"].items()}
        path = pathlib.Path(options["path"].replace("~", self.place.environment["HOME"], 1))
        entries = self.place.cache
        prefix = options.get("restore-keys", options["key"])
        # The newest entry comes last.
        found = [key for key in entries if key == options["key"] or key.startswith(prefix)]
        if step["uses"].startswith("actions/cache/save@"):
            # An entry is never replaced. Without the path, the action only warns.
            if path.is_dir():
                entries.setdefault(options["key"], {file.name: file.read_bytes() for file in path.iterdir()})
        elif found:
            path.mkdir(parents=True)
            for name, content in entries[found[-1]].items():
                (path / name).write_bytes(content)
                (path / name).chmod(0o755)

    def upload(self, step):
        """Does the work of actions/upload-artifact: omits hidden files, and fails if one path is bad."""
        assert step["uses"].startswith("actions/upload-artifact@"), step["uses"]
        options = {name: self.expand(value) for name, value in step["with"].items()}
        root = self.place.directory / options["path"]
        if options.get("archive") == "False":
            # One file, which gives the artifact its name: https://github.com/actions/upload-artifact/issues/785.
            assert root.is_file() and "name" not in options, options
            options["name"] = root.name
        assert not re.search(r'[":<>|*?\r\n\\/]', options["name"]), options["name"]
        if root.is_file():
            assert options["name"] not in [upload["name"] for upload in self.uploads]
            self.uploads.append({**options, "files": [root.name], "content": root.read_bytes()})
            self.steps[step["id"]]["artifact-url"] = PAGE_URL
            return
        files = []
        for file in root.rglob("*"):
            path = file.relative_to(root)
            if file.is_file() and not any(part.startswith(".") for part in path.parts):
                assert not re.search(r'[":<>|*?\r\n]', str(path)), path
                files.append(str(path))
        assert files, "there is nothing to upload"
        assert options["name"] not in [upload["name"] for upload in self.uploads]
        self.uploads.append({**options, "files": files})
        self.steps[step["id"]]["artifact-url"] = URL

    # Expressions

    def expand(self, text):
        return re.sub(r"\$\{\{(.*?)\}\}", lambda found: self.value(found[1].strip()), str(text))

    def value(self, expression):
        contexts = {
            "github.job": self.place.environment["GITHUB_JOB"],
            "github.run_attempt": self.place.environment["GITHUB_RUN_ATTEMPT"], "strategy.job-index": "0",
            "github.sha": self.place.environment.get("GITHUB_SHA", ""), "github.ref": self.place.ref,
            "github.event_name": self.place.event, "github.event.repository.default_branch": "main",
            "github.event.pull_request.number": self.place.number,
            "github.event.pull_request.head.sha": self.place.head, "github.token": self.place.token,
            "github.action_repository": "octo/failure-artifacts", "github.action_ref": self.place.action_ref,
        }
        if expression in contexts:
            return contexts[expression]
        if found := re.fullmatch(r"inputs\.([\w-]+)", expression):
            return self.inputs[found[1]]
        if found := re.fullmatch(r"steps\.([\w-]+)\.outputs\.([\w-]+)", expression):
            return self.steps[found[1]].get(found[2], "")
        if found := re.fullmatch(r"steps\.([\w-]+)\.outcome", expression):
            return self.outcomes[found[1]]
        raise AssertionError(f"the expression {expression!r} is not known")

    def condition(self, text, has_failed):
        """Evaluates comparisons with texts, joined by `&&`."""
        parts = [part.strip() for part in text.strip().removeprefix("${{").removesuffix("}}").split("&&")]
        if not any(part in ("always()", "!cancelled()") for part in parts) and (has_failed or self.is_cancelled):
            return False
        for part in parts:
            if part == "!cancelled()" and self.is_cancelled:
                return False
            if part in ("always()", "success()", "!cancelled()"):
                continue
            left, operator, right = re.fullmatch(r"(\S+) (==|!=) '(.*)'", part).groups()
            if (self.value(left) == right) != (operator == "=="):
                return False
        return True

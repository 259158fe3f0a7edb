"""The README and the articles agree with the code: links, variables, products and commands."""

import json
import pathlib
import re
import subprocess
import unittest

import yaml

import names
from harness import BUILT_TOOL, ROOT, TOOL, clean_environment, fresh_directory

README = ROOT / "README.md"
ARTICLES = ROOT / "Sources/FailureArtifacts/Documentation.docc"
# Not meant to be set by users.
INTERNAL = {"FAILURE_ARTIFACTS_RUN", "FAILURE_ARTIFACTS_FIXTURE"}


class Documents(unittest.TestCase):
    def test_the_readme_is_short(self):
        self.assertLessEqual(len(README.read_text().splitlines()), 180)

    def test_links_lead_somewhere(self):
        for document in (README, *ROOT.glob(".github/*.md")):
            links = re.findall(r"\]\((?!https?:)([^)#]*)(#[^)]*)?\)", document.read_text())
            self.assertTrue(links, document)
            for path, anchor in links:
                # On GitHub, a slash is the root of the repository.
                target = ROOT / path.removeprefix("/") if path.startswith("/") else document.parent / path if path else document
                self.assertTrue(target.is_file(), path)
                if anchor:
                    headings = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
                    self.assertIn(anchor[1:], {heading.lower().replace(" ", "-") for heading in headings}, path)

    def test_the_package_index_shows_the_articles(self):
        """https://github.com/SwiftPackageIndex/SPIManifest describes the file. It ignores a larger one."""
        self.assertLessEqual((ROOT / ".spi.yml").stat().st_size, 1000)
        manifest = yaml.safe_load((ROOT / ".spi.yml").read_text())
        (config,) = manifest["builder"]["configs"]
        self.assertEqual(config["documentation_targets"][0], ARTICLES.parent.name)
        for target in config["documentation_targets"]:
            self.assertTrue((ROOT / "Sources" / target).is_dir(), target)

    def test_every_article_is_linked(self):
        articles = {path.stem: path.read_text() for path in ARTICLES.glob("*.md")}
        links = {name: set(re.findall(r"<doc:(\w+)>", text)) for name, text in articles.items()}
        for name, targets in links.items():
            self.assertLessEqual(targets, set(articles), name)
        self.assertEqual(links["FailureArtifacts"], set(articles) - {"FailureArtifacts"})

    def test_links_to_sections_lead_somewhere(self):
        articles = {path.stem: path.read_text() for path in ARTICLES.glob("*.md")}
        found = 0
        for name, text in articles.items():
            links = [(name, anchor) for anchor in re.findall(r"\]\(#([^)]+)\)", text)]
            for target, anchor in links + re.findall(r"<doc:(\w+)#([^>]+)>", text):
                headings = re.findall(r"^##+ (.+)$", articles[target], re.MULTILINE)
                self.assertIn(anchor, {re.sub(r"[^\w-]+", "-", heading) for heading in headings}, name)
                found += 1
        self.assertGreater(found, 10)

    @unittest.skipUnless((BUILT_TOOL.parent / "Modules").is_dir(), "Another build system has other places for modules.")
    def test_docc_resolves_every_link(self):
        """Also links to symbols, which are those of the modules that are documented together."""
        directory = fresh_directory(self)
        maps = [*ROOT.glob("Sources/*/module.modulemap"), *BUILT_TOOL.parent.glob("C*.build/module.modulemap")]
        options = [word for path in maps for word in ("-Xcc", f"-fmodule-map-file={path}")]
        options += [word for path in ROOT.glob("Sources/*/include") for word in ("-I", path)]
        target = json.loads(subprocess.run(
            ["swift", "-print-target-info"], check=True, capture_output=True).stdout)["target"]["triple"]
        for module in ("FailureArtifacts", "FailureArtifactsTestKit"):
            subprocess.run([
                "swift-symbolgraph-extract", "-module-name", module, "-target", target, "-output-dir", directory,
                "-experimental-allowed-reexported-modules=FailureArtifactsCapture", "-I", BUILT_TOOL.parent / "Modules",
                *options], check=True, capture_output=True)
        said = subprocess.run([
            "docc", "convert", ARTICLES, "--additional-symbol-graph-dir", directory, "--output-path", directory / "out",
            "--fallback-display-name", "FailureArtifacts", "--fallback-bundle-identifier", "FailureArtifacts"],
            capture_output=True, text=True)
        self.assertEqual((said.returncode, re.findall(r"^(?:warning|error): .*", said.stdout + said.stderr, re.MULTILINE)), (0, []))
        self.assertGreater(len(list((directory / "out/data/documentation").rglob("*.json"))), 100)

    def test_every_variable_is_in_the_article(self):
        row = re.compile(r"^\| `(FAILURE_ARTIFACTS\w*)` \|.*\| ([^|]+) \|$", re.MULTILINE)
        settings, readme = (dict(row.findall(path.read_text())) for path in (ARTICLES / "Settings.md", README))
        self.assertEqual(len(readme), 5)
        self.assertLessEqual(readme.items(), settings.items())
        read = set()
        for path in (ROOT / "Sources").rglob("*.swift"):
            read |= set(re.findall(r'"(FAILURE_ARTIFACTS(?:_[A-Z]+)*)"', path.read_text()))
        self.assertEqual(read - INTERNAL, set(settings))

    def test_versions_of_swift(self):
        """Manifests, images and articles name the version that the package needs."""
        needed = re.search(r"swift-tools-version: (\d+\.\d+)", (ROOT / "Package.swift").read_text())[1]
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
        texts = {
            name: (ROOT / name).read_text() for name in listed.split("\0")[:-1]
            if (ROOT / name).is_file() and pathlib.PurePath(name).suffix in ("", ".groovy", ".md", ".py", ".swift", ".yml")}
        for pattern in (
                r"swift-tools-version: (\d+\.\d+)", r"\bswift:(\d+\.\d+)", r"\bSwift (?:toolchain )?\(?(\d+\.\d+) or later"):
            found = {(name, version) for name, text in texts.items() for version in re.findall(pattern, text)}
            self.assertGreater(len(found), 1, pattern)
            self.assertEqual({(name, version) for name, version in found if version != needed}, set())

    def test_every_product_is_in_the_readme(self):
        package = (ROOT / "Package.swift").read_text()
        products = re.findall(r'^ +(?:product\(|\.executable\(name: )"([\w-]+)"', package, re.MULTILINE)
        self.assertEqual(len(products), 5)
        self.assertLessEqual(set(products), set(re.findall(r'[`"]([\w-]+)[`"]', README.read_text())))

    def test_every_command_is_in_the_article(self):
        text = subprocess.run(
            [TOOL, "--help"], env=clean_environment("/tmp"), check=True, capture_output=True, text=True).stdout
        commands = re.findall(r"^  ([a-z]+) ", text.split("Commands:")[1].split("Options:")[0], re.MULTILINE)
        article = (ARTICLES / "ReadingBundles.md").read_text()
        # Other tables follow the commands'.
        table = re.search(r"^\| (?:\| )?.*\n\|[ -|]+\n((?:\|.*\n)+)", article, re.MULTILINE)[1]
        described = re.findall(r"^\| (`.+?) \|.*\| (`.+?`) \|$", table, re.MULTILINE)
        words = [set(re.findall(r"`([a-z]+)", row)) for row, _ in described]
        self.assertEqual(set().union(*words), set(commands))
        for names_of_row, (_, example) in zip(words, described):
            self.assertIn(re.match(r"`([a-z]+)", example)[1], names_of_row)

    def test_every_code_of_a_finding_is_in_the_article(self):
        source = (ROOT / "Sources/FailureArtifactsAnalysis/Evidence/Finding.swift").read_text()
        cases = re.search(r"enum Code\b.*?\n    }\n", source, re.DOTALL)[0]
        codes = [text or name for name, text in re.findall(r'^ +case (\w+)(?: = "([\w-]+)")?$', cases, re.MULTILINE)]
        self.assertGreater(len(codes), 15)
        table = (ARTICLES / "Findings.md").read_text().split("### Codes")[1].split("\n##")[0]
        rows = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
        self.assertEqual(sorted(code for row in rows for code in re.findall(r"`([a-z-]+)`", row)), sorted(codes))

    def test_the_places_of_behaviours(self):
        """Each file of Architecture's list exists and declares or uses the name."""
        section = (ARTICLES / "Architecture.md").read_text().split("\n### Where is …\n")[1].split("\n### ")[0]
        rows = re.findall(r"^\| .+ \| `(\S+)` \| `(\w+)` \|$", section, re.MULTILINE)
        self.assertGreaterEqual(len(rows), 20)
        for path, name in rows:
            with self.subTest(path=path, name=name):
                self.assertRegex((ROOT / path).read_text(), rf"\b{name}\b")

    def test_the_words_are_those_of_the_code(self):
        """The types that Architecture's words stand for are declared under these names."""
        section = (ARTICLES / "Architecture.md").read_text().split("\n### Words\n")[1].split("\n### ")[0]
        cells = re.findall(r"^\| [^|]+ \| [^|]+ \| ([^|]+) \|$", section, re.MULTILINE)
        types = [name for cell in cells for name in re.findall(r"`((?:\w+\.)?[A-Z]\w+)`", cell)]
        self.assertGreaterEqual(len(types), 20)
        files = {path.stem for path in (ROOT / "Sources").rglob("*.swift")}
        for name in types:
            with self.subTest(name=name):
                # A type has a file of its name.
                self.assertIn(name.split(".")[0], files)

    def test_every_key_of_the_metadata_is_in_the_article(self):
        schema = json.loads((ARTICLES / "metadata.schema.json").read_text())
        section = (ARTICLES / "BundleFormat.md").read_text().split("\n## Metadata\n")[1].split("\n### ")[0]
        listed = set(re.findall(r"`(\w+)`", section))
        self.assertLessEqual(set(schema["properties"]) | set(schema["$defs"]["store"]["properties"]), listed)

    def test_keys_of_explanations_are_in_the_help(self):
        sources = ROOT / "Sources/FailureArtifactsCommands/Subcommands/ExplainCommand.swift", \
            ROOT / "Sources/FailureArtifactsAnalysis/Findings/Explanation.swift"
        command, explanation = (path.read_text() for path in sources)
        written = re.search(r"var json: JSONObject {\s*\[(.*?)\]", explanation, re.DOTALL)[1]
        described = re.sub(r'"\s*\+ "|\(.*?\)', "", re.search(r"a JSON object: (.*?)\. A", command, re.DOTALL)[1])
        keys = re.findall(r"\w+", described.replace("if there are any", "").replace(" and", ""))
        self.assertEqual(keys, re.findall(r'"(\w+)": ', written))

    def test_names_in_comments_and_documents_exist(self):
        found = names.missing(ROOT)
        self.assertEqual([(path, name) for path, name in found if name not in names.ELSEWHERE], [])
        self.assertEqual(names.ELSEWHERE - {name for _, name in found}, set())

    def test_names_that_do_not_exist_are_found(self):
        # In two parts, because strings in code are names that exist.
        x = "Vanis" + "hed"
        text = f"{x}.swift of {x.lower()}.c `{x}` ``Other/{x}`` `--{x.lower()}` <doc:{x}> Sources/{x} `{x}.rows(of:)`"
        text += f" FAILURE_ARTIFACTS_{x.upper()} failure_artifacts_{x.lower()}()"
        found = [name for path, name in names.missing(ROOT, [("here", text)]) if path == "here"]
        self.assertEqual(len(found), 9, found)

    def test_code_of_the_article_about_the_test_kit_is_tested(self):
        # The code for SQLite and GRDB is a part of `KitSuite`, which `test_kit.py` runs. `Tests/AppleShim/check` checks the
        # types of the code for Core Data.
        text = (ARTICLES / "TestKit.md").read_text()
        blocks = re.findall(r"^([^\n]*)\n\n```swift\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        self.assertEqual([label for label, _ in blocks], ["SQLite:"] * 2 + ["GRDB:"] + ["SQLite:"] * 4 + ["Core Data:"])
        self.assertEqual(text.count("```swift"), len(blocks))

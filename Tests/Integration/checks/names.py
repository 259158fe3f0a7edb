"""Finds names in comments and documents that don't exist in the code."""

import pathlib
import re
import subprocess

# Names of other programs and of their sources, by owner, and examples.
ELSEWHERE = {name for names in {
    "SQLite": "btree.c main.c os.h os_unix.c pager.c sqliteInt.h src/os.h vdbeapi.c vdbetrace.c PENDING_BYTE -safe "
              "fillInUnixFile mxFrame nBackfill nBackfillAttempted sqlite3VdbeExpandSql sqlite_stat1",
    "Swift, XCTest and SwiftPM": "SQLite.swift swift/Runtime/Backtrace.h BinaryInteger PrintObserver reportFatalError "
                                 "XCTExpectFailure Synchronization.Mutex",
    "Apple": "-retry-tests-on-failure ci_scripts/ci_post_xcodebuild.sh Games.xcdatamodeld NSPrincipalClass TEST_RUNNER_ "
             "Z26_OWNER Z_26ASSETS __MACOSX/._x.zip __nonnull launchd",
    "Linux": "fs/open.c sysexits.h ENOTEMPTY F_OFD_GETLK filp_close nohup",
    "CI services": ".buildkite/pipeline.yml .circleci/config.yml azure-pipelines.yml "
                   "bitbucket-pipelines.yml .gitlab-ci.yml Jenkinsfile ActionCommand BITBUCKET_CLONE_DIR "
                   "IActionCommandExtension TryParse TryParseV2 rerunType "
                   "invalidArtifactFilePathCharacters",
    "others": "extrafld.txt Plugins/Ask/Ask.swift",
    "examples": "Basket/p3 Class Class.method Fruit/p3 MarchFixture Module.Class "
                "Module.Class/method Module.Outer/Inner Module/File.swift Sources/Team/Team.swift Tests/Invariants e9c5b6f "
                "Tests/LedgerTests/Fixtures/BooksOfMarchAreBalanced.sql "
                "Tests/LedgerTests/BooksOfMarchAreBalancedFixture.swift sourceAccountID source_account_id",
}.values() for name in names.split()}

STRING = r'"(?:\\.|[^"\\\n])*"'
# What may be a comment, and the strings that may contain its sign.
BRACES = r'#*"""[\s\S]*?"""#*|#*' + STRING + r"#*|(?P<comment>//[^\n]*|/\*[\s\S]*?\*/)"
HASHES = r'(?P<text>^ *"""[\s\S]*?""")|' + STRING + r"|'(?:\\.|[^'\\\n])*'|(?P<comment>(?:(?<=\s)|^)#[^\n]*)"
FILE = r"[\w+.-]+(?:/[\w+.-]+)*\.(?:swift|[ch]|py|js|css|md|json|sh|yml|modulemap)"
OPTION = r"--?[a-z][\w-]*"
NAMES = [
    # Files and directories with their path, and other files.
    r"(?<![\w/.`…~-])((?:Sources|Tests|Scripts)/[\w+./-]*[\w+])",
    rf"(?<![\w/.`…*<>~@+-])({FILE})(?![\w/(])",
    r"\b((?:failure_artifacts|FAILURE_ARTIFACTS)_\w*[a-zA-Z0-9])\b(?!…)",
    r"<doc:(\w+)",
    # Code, also as a link to a symbol, and with the labels of a function's arguments.
    rf"(?<!`)``?({OPTION}|[\w./+-]+(?:\([\w:]*\))?)``?(?!`)",
]


def separate(path, text):
    """Returns the prose and the code of a file: its comments and the rest."""
    if path.suffix == ".md":
        return re.sub(r"^```[\s\S]*?^```", "", text, flags=re.MULTILINE), "".join(
            re.findall(r"^```[\s\S]*?^```", text, re.MULTILINE))
    prose = []

    def take(found):
        comment = found["comment"] or found.groupdict().get("text")
        prose.append(comment or "")
        return "\n" if comment else found[0]

    code = re.sub(
        BRACES if path.suffix in (".swift", ".c", ".h", ".js") else HASHES, take, text, flags=re.MULTILINE)
    return "\n".join(prose), code


def missing(root, other_texts=()):
    """Returns the names that the tree lacks, as (file, name); `other_texts` are more documents, as (file, text)."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
    paths = [pathlib.PurePath(name) for name in listed.split("\0")[:-1] if (root / name).is_file()]
    texts = {
        str(path): separate(path, (root / path).read_text()) for path in paths
        if path.suffix not in (".png", ".svg", ".txt", ".zip") and path.name != pathlib.Path(__file__).name}
    code = "\n".join(text for _, text in texts.values())
    words = set(re.findall(r"[A-Za-z_]\w*", code))
    places = set()
    for path in paths:
        for folder in (path, *list(path.parents)[:-1]):
            parts = folder.parts
            places |= {"/".join(parts[start:]) for start in range(len(parts))}
    articles = {path.stem for path in paths if path.suffix == ".md"}

    def exists(name):
        # The calls of a copy of SQLite have no prefix in the code.
        if name.startswith(("sqlite3_", "SQLITE_")) or name.removesuffix("/") in places or name in articles:
            return True
        if re.fullmatch(rf"{FILE}|{OPTION}", name):
            return name in code
        return not name.startswith(("Sources/", "Tests/", "Scripts/")) and all(
            word in words for word in re.findall(r"[A-Za-z_]\w*", name))

    documents = [*((path, prose) for path, (prose, _) in texts.items()), *other_texts]
    return sorted({
        (path, name) for path, text in documents for pattern in NAMES for name in re.findall(pattern, text)
        if not exists(name)})

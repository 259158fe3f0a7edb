import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

/// Text in a bundle that a terminal or a CI service would interpret, in the output of the commands that read bundles.
@Suite struct UntrustedTextTests {
    private static let hidden =
        "\u{7F}\u{85}\u{9B}2J\u{61C}\u{200E}\u{200F}\u{202A}\u{202E}\u{2066}\u{2069}"
    private static let text = "::add-mask::x ##[error]a ##vso[task.complete]b ##TeamCity[c] \(hidden)"
    private static let lines = "boom\n\(text)\n  ::error file=x\n\u{2003}::debug::d"
    private static let table = "::notice::t ##[group]"

    /// Writes a bundle that has the text wherever a test, its code or its stores decide about it.
    private func makeBundle(_ fixture: borrowing Fixture) throws -> String {
        let insert = "INSERT INTO account VALUES (9, '\(Self.text)', 'a\n\(Self.text)')"
        let create = "CREATE TABLE \"\(Self.table)\"(\"##[x]\", y)"
        let fill = "INSERT INTO \"\(Self.table)\" VALUES ('\(Self.text)', 1)"
        let plain = try fixture.walBundle(
            [insert, create, fill, "UPDATE account SET balance = '::x' WHERE id = 9"],
            log: [insert, create, fill].map { sql in
                (sql.replacing("\"", with: "\\\"").replacing("\n", with: "\\n"), 1)
            }, facts: [2: "\"error\":{\"code\":1,\"message\":\"\(Self.text)\"}"])
        // The zip's name is shown too.
        let path = fixture.path("##[warning]##vso[x]-1a2b3c4d.zip")
        let program = """
            import json, sys, zipfile
            old, text, lines = zipfile.ZipFile(sys.argv[1]), sys.argv[3], sys.argv[4]
            with zipfile.ZipFile(sys.argv[2], "w") as new:
                for name in old.namelist():
                    data = old.read(name)
                    if name == "metadata.json":
                        metadata = json.loads(data)
                        metadata["test"].update(suite=text, name=text, arguments=[text])
                        metadata["failures"][0].update(message=lines, file=text, line=3)
                        metadata["warnings"] = [text]
                        metadata["stores"][0].update(name=text, originalPath=text, integrity=text)
                        metadata["attachments"] = [{"name": text, "entry": "attachments/a.log", "bytes": 9}]
                        metadata["environment"]["operatingSystem"] = text
                        data = json.dumps(metadata).encode()
                    new.writestr(name, data)
                new.writestr("attachments/a.log", lines)
            """
        let made = try Program.run(
            "/usr/bin/env", ["python3", "-c", program, plain, path, Self.text, Self.lines])
        try #require(made.status == 0, "\(made.error)")
        try FileSystem.remove(plain)
        return path
    }

    /// The commands, with `BUNDLE`, `FOLDER` and `OUT` for paths.
    static let commands: [[String]] = [
        ["list", "BUNDLE"], ["explain", "BUNDLE", "--all"], ["explain", "BUNDLE", "--markdown"],
        ["show", "BUNDLE", "--all", "--statements", "--schema"],
        ["query", "BUNDLE", "SELECT * FROM account", "--no-limits"],
        ["query", "BUNDLE", "SELECT balance FROM account", "--no-limits"],
        ["history", "BUNDLE"], ["blame", "BUNDLE", "account", "9"],
        ["blame", "BUNDLE", table, "WHERE", "y = 1"],
        ["bisect", "BUNDLE", "SELECT * FROM account WHERE id = 9"], ["diff", "BUNDLE"],
        ["diff", "BUNDLE", "--at", "0", "--all"],
        ["reduce", "BUNDLE", "--check", "SELECT * FROM account WHERE id = 9", "-o", "OUT"],
        ["extract", "BUNDLE", "-o", "OUT"], ["verify", "BUNDLE"], ["report", "BUNDLE", "-o", "-"],
        ["merge", "FOLDER", "-o", "OUT"], ["junit", "BUNDLE"], ["summary", "BUNDLE"],
        ["prune", "FOLDER", "--max-total-bytes", "1", "--dry-run"],
    ]

    static let jsonCommands: [[String]] = [
        ["list", "BUNDLE"], ["explain", "BUNDLE", "--all"], ["show", "BUNDLE", "--all"],
        ["query", "BUNDLE", "SELECT * FROM account"], ["history", "BUNDLE"],
        ["blame", "BUNDLE", "account", "9"], ["blame", "BUNDLE", table, "WHERE", "y = 1"],
        ["bisect", "BUNDLE", "SELECT * FROM account WHERE id = 9"], ["diff", "BUNDLE", "--at", "0"],
        ["reduce", "BUNDLE", "--check", "SELECT * FROM account WHERE id = 9", "-o", "OUT"],
        ["extract", "BUNDLE", "-o", "OUT"], ["verify", "BUNDLE"], ["merge", "FOLDER", "-o", "OUT"],
        ["prune", "FOLDER", "--max-total-bytes", "1", "--dry-run"],
    ].map { $0 + ["--json"] }

    private func outcome(
        of command: [String], _ fixture: borrowing Fixture, width: Int? = nil
    ) throws -> Outcome {
        let bundle = try makeBundle(fixture)
        let folder = fixture.directory
        let out = fixture.path("out ##[x]")
        let places = ["BUNDLE": bundle, "FOLDER": folder, "OUT": out]
        return run(command.map { places[$0] ?? $0 }, width: width)
    }

    /// Requires that no CI service would execute a line.
    private func checkLines(
        _ text: String, _ command: [String], location: SourceLocation = #_sourceLocation
    ) {
        for line in text.split(whereSeparator: \.isNewline) {
            let start = line.drop(while: \.isWhitespace).prefix(200)
            #expect(!start.hasPrefix("::"), "\(command): \(start)", sourceLocation: location)
            let small = line.lowercased()
            for word in ["##[", "##vso[", "##teamcity["] {
                #expect(!small.contains(word), "\(command): \(start)", sourceLocation: location)
            }
        }
    }

    /// True if a terminal would interpret a character.
    private func hasHidden(_ text: String) -> Bool {
        let hidden = Self.hidden.unicodeScalars.filter { !("0"..."z").contains($0) }
        return text.unicodeScalars.contains { hidden.contains($0) }
    }

    @Test(arguments: commands) func noCommandOfACIServiceIsPrinted(_ command: [String]) throws {
        let fixture = try Fixture()
        // Without a terminal, a query prints CSV.
        let found = try outcome(of: command, fixture, width: command[0] == "query" ? 100 : nil)
        #expect(found.status <= 1, "\(command): \(found.error)")
        let isEscaped = found.output.contains("\\u{") || found.output.contains("&#35;")
        #expect(isEscaped, "\(command): \(found)")
        checkLines(found.output, command)
        checkLines(found.error, command)
        #expect(!hasHidden(found.output) && !hasHidden(found.error), "\(command): \(found)")
    }

    @Test(arguments: jsonCommands) func jsonIsPrintable(_ command: [String]) throws {
        let fixture = try Fixture()
        let found = try outcome(of: command, fixture)
        #expect(found.status <= 1, "\(command): \(found.error)")
        #expect(found.output.contains("\\u0023"), "\(command): \(found)")
        checkLines(found.output, command)
        #expect(!hasHidden(found.output), "\(command): \(found)")
        let values = try Program.python(
            """
            import json, sys
            text = open(sys.argv[1]).read()
            try: values = [json.loads(text)]
            except ValueError: values = [json.loads(line) for line in text.splitlines()]
            print(json.dumps(values, ensure_ascii=False))
            """, found.output)
        #expect(values.contains("##["), "\(command): \(values)")
        #expect(!values.contains("\\u00"), "\(command): \(values)")
    }

    @Test func namesOfFilesCannotStartALine() throws {
        let fixture = try Fixture()
        let bundle = try makeBundle(fixture)
        let name = "::warning::x-1a2b3c4d.zip"
        try FileSystem.copy(bundle, toNewFile: fixture.path(name))
        for command in [["list", name], ["verify", name], ["show", name], ["verify", "::error::y"]] {
            let found = try Program.tool(command, directory: fixture.directory)
            checkLines(found.output, command)
            checkLines(found.error, command)
        }
    }
}

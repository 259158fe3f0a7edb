@testable import FailureArtifactsCommands
@testable import FailureArtifactsTestRun
import FailureArtifactsAnalysis
import FailureArtifactsTestFixtures
import Testing

@Suite struct SkillTests {
    private let text = SkillCommand.text

    /// Returns what the text has in code spans and on indented lines.
    private var code: [String] {
        text.split(separator: "\n").flatMap { line in
            line.hasPrefix("       ")
                ? [String(line.drop { $0 == " " })]
                : line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                    .compactMap { $0 % 2 == 1 ? String($1) : nil }
        }
    }

    @Test func isPrintedAndShort() throws {
        let outcome = try Program.tool("skill")
        #expect(outcome == Outcome(status: 0, output: text, error: ""))
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 120)
        #expect(
            lines.prefix(4).map { String($0.prefix { $0 != ":" }) } == [
                "---", "name", "description", "---",
            ])
        #expect(lines[1].hasSuffix(": failure-artifacts"))
    }

    @Test func eachCommandIsUnderstood() throws {
        let commands = code.filter { $0.hasPrefix("failure-artifacts ") && !$0.contains("COMMAND") }
        #expect(commands.count > 15)
        for command in commands {
            let words = try #require(ShellScript(command).commands.first).map(\.text)
            let syntax = try #require(
                CommandLineTool.commands.first { $0.syntax.command == words[1] }?.syntax, "\(command)")
            #expect(throws: Never.self, "\(command)") {
                try syntax.parse(Array(words[2...]), artifacts: "failure-artifacts")
            }
        }
    }

    @Test func eachOptionExists() {
        let all = Set(CommandLineTool.commands.flatMap { $0.syntax.options.map(\.name) })
        let options = Set(
            code.compactMap { $0.split(separator: " ").first }.filter { $0.hasPrefix("--") })
        #expect(options.count > 3)
        for option in options { #expect(all.contains(String(option)), "\(option)") }
        for command in ["explain", "history", "diff", "query", "blame"] {
            let syntax = CommandLineTool.commands.first { $0.syntax.command == command }?.syntax
            #expect(syntax?.option(named: "--json") != nil, "\(command)")
        }
    }

    @Test func eachCodeAndConfidenceExists() {
        let codes = code.filter {
            $0.contains("-") && $0.utf8.allSatisfy { $0 == 0x2D || 0x61...0x7A ~= $0 }
        }
        .filter { $0 != "failure-artifacts" && !$0.hasPrefix("-") }
        #expect(codes.count > 10)
        for name in codes { #expect(Finding.Code(rawValue: name) != nil, "\(name)") }
        for confidence in [Finding.Confidence.certain, .likely, .possible] {
            #expect(code.contains(confidence.rawValue))
        }
    }
}

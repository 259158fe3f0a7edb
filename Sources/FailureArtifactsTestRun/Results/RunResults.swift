package import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// Collects the test results of a run from XCTest's log and from files that the command writes.
///
/// To `swift test`, also in the script of a shell, it adds options for Swift Testing's event stream and for the report of
/// parallel runs. These options change nothing of the command's output. Any other command runs unchanged.
package final class RunResults: Sendable {
    // Each option with its names, of which Swift Testing prefers the first.
    private static let eventsOptions = [
        "--event-stream-output-path", "--experimental-event-stream-output",
    ]
    private static let versionOptions = [
        "--event-stream-version", "--experimental-event-stream-version",
    ]
    private static let reportOption = "--xunit-output"
    /// The options that repeat tests, which SwiftPM has since 6.4.
    private static let repetitionOptions = ["--maximum-repetitions", "--repeat-until"]

    package let words: [String]
    private let eventFiles: [String]
    private let reportFiles: [String]
    private let logs = [Lock(XCTestLog()), Lock(XCTestLog())]

    package init(_ words: [String], scratch: String) {
        var (words, eventFiles, reportFiles) = (words, [String](), [String]())
        func added(to options: ArraySlice<String>) -> [String] {
            let number = eventFiles.isEmpty ? "" : "-\(eventFiles.count + 1)"
            var added: [String] = []
            if let given = Self.value(of: Self.eventsOptions, in: options) {
                eventFiles.append(given)
            } else {
                let file = Path.join(scratch, "events\(number).jsonl")
                eventFiles.append(file)
                added += [Self.eventsOptions[0], file]
                if Self.value(of: Self.versionOptions, in: options) == nil {
                    // Without a version, the newest one is written, and an older library refuses a newer version.
                    let isRepeated = Self.value(of: Self.repetitionOptions, in: options) != nil
                    added += [Self.versionOptions[0], isRepeated ? "6.4" : "6.3"]
                }
            }
            if let given = Self.value(of: [Self.reportOption], in: options) {
                reportFiles.append(given)
            } else if options.contains("--parallel") {
                let file = Path.join(scratch, "report\(number).xml")
                reportFiles.append(file)
                added += [Self.reportOption, file]
            }
            return added
        }
        if let place = ShellScript.place(in: words) {
            let script = ShellScript(words[place])
            words[place] = script.inserting(
                script.commands.compactMap { command in
                    let texts = command.map(\.text)
                    return Self.placeOfTest(in: texts).map { test in
                        (command[test], added(to: texts[(test + 1)...]))
                    }
                })
        } else if let test = Self.placeOfTest(in: words) {
            words.insert(contentsOf: added(to: words[(test + 1)...]), at: test + 1)
        }
        self.words = words
        self.eventFiles = eventFiles
        self.reportFiles = reportFiles
    }

    /// True if the results of Swift Testing are read.
    package var readsEvents: Bool { !eventFiles.isEmpty }

    /// The hooks for the lines of standard output and standard error, called on any thread.
    var lineHooks: (output: @Sendable ([UInt8]) -> Void, error: @Sendable ([UInt8]) -> Void) {
        func hook(_ log: Lock<XCTestLog>) -> @Sendable ([UInt8]) -> Void {
            { line in log.withLock { log in log.read(bytes: line) } }
        }
        return (hook(logs[0]), hook(logs[1]))
    }

    package func results(bundles: [ReportedBundle]) -> TestResults {
        var attempts: [TestAttempt] = []
        var report: [TestAttempt] = []
        for log in logs {
            let log = log.withLock(\.self)
            attempts += log.attempts
            report += log.passed
        }
        // Reading a pipe could block for ever.
        func isFile(_ path: String) -> Bool { FileSystem.regularFile(path) != nil }
        for file in eventFiles.filter(isFile) {
            attempts += (try? EventStream(ofFile: file))?.attempts ?? []
        }
        let reports = reportFiles.filter(isFile).compactMap { file in
            (try? FileSystem.contents(ofFile: file)).map { String(decoding: $0, as: UTF8.self) }
        }
        if !reports.isEmpty { report = reports.flatMap(SwiftPMReport.attempts) }
        return TestResults(attempts: attempts, report: report, bundles: bundles)
    }

    /// The words before a command, in a shell's script or elsewhere, that change nothing of its arguments.
    private static let prefixes: Set = [
        "!", "{", "do", "else", "exec", "if", "then", "time", "until", "while", "env", "xcrun",
    ]

    /// Finds the word `test` in `swift test`, `xcrun swift test` or `env A=b swift test`; nil for another command.
    static func placeOfTest(in words: [String]) -> Int? {
        let rest = words.drop { word in
            Self.prefixes.contains(Path.name(of: word)) || word.contains("=") && !word.hasPrefix("-")
        }
        guard let program = rest.first, Path.name(of: program) == "swift",
            rest.dropFirst().first == "test"
        else { return nil }
        let options = rest.dropFirst(2)
        let lists = options.first == "list" || options.contains("--list-tests") || options.contains("-l")
        return lists ? nil : rest.startIndex + 1
    }

    /// Returns the value of an option, which may have several names; the first name prevails.
    private static func value(of names: [String], in words: ArraySlice<String>) -> String? {
        for name in names {
            for (index, word) in zip(words.indices, words) {
                if word == name, index + 1 < words.endIndex { return words[index + 1] }
                if word.hasPrefix(name + "=") { return String(word.dropFirst(name.count + 1)) }
            }
        }
        return nil
    }
}

/// Reads the xUnit file that `swift test --parallel` writes, the only source for tests that pass.
///
/// It doesn't say why a test failed, and reports a skipped test as passed. The writer is SwiftPM's
/// [XUnitGenerator](https://github.com/swiftlang/swift-package-manager/blob/main/Sources/Commands/SwiftTestCommand.swift).
enum SwiftPMReport {
    static func attempts(_ xml: String) -> [TestAttempt] {
        var attempts: [TestAttempt] = []
        for part in xml.split(separator: "<testcase ", omittingEmptySubsequences: false).dropFirst() {
            guard let end = part.firstIndex(of: ">") else { continue }
            let tag = part[..<end]
            guard let type = attribute("classname", of: tag), let name = attribute("name", of: tag),
                let dot = type.firstIndex(of: ".")
            else { continue }
            var attempt = TestAttempt(
                test: TestIdentity(
                    framework: TestIdentity.xctest, module: String(type[..<dot]),
                    suite: String(type[type.index(after: dot)...]), name: name))
            attempt.outcome = part.firstRange(of: "<failure") == nil ? .passed : .failed
            attempt.seconds = attribute("time", of: tag).flatMap(Double.init)
                .flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
            attempts.append(attempt)
        }
        return attempts
    }

    private static func attribute(_ name: String, of tag: Substring) -> String? {
        let start =
            tag.hasPrefix(name + "=\"")
            ? tag.index(tag.startIndex, offsetBy: name.count + 2)
            : tag.firstRange(of: " \(name)=\"")?.upperBound
        guard let start, let end = tag[start...].firstIndex(of: "\"") else { return nil }
        var text = String(tag[start..<end])
        for (entity, character) in [
            ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&"),
        ] {
            text.replace(entity, with: character)
        }
        return text
    }
}

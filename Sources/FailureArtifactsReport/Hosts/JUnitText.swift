package import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// Test results as JUnit XML, in the form that Jenkins, GitLab and similar servers read.
///
/// The form is the one that Jenkins' xUnit plugin validates
/// ([junit-10.xsd](https://github.com/jenkinsci/xunit-plugin/tree/master/src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd)).
/// A failing test has one `failure`, or an `error` if its process died. Further runs of the test are `rerunFailure`.
/// Failed runs before one that passed are `flakyFailure`, as in Maven Surefire's reports. The bundles are named in
/// `system-out`, where [GitLab](https://docs.gitlab.com/ci/testing/unit_test_reports/) and Jenkins' attachments plugin
/// look for them.
package struct JUnitText: WrittenText {
    private static let attributeLimit = 1000
    private static let textLimit = 64 << 10

    let results: TestResults
    /// A function that returns a bundle's path for readers of the file.
    let attachment: (String) -> String

    package init(results: TestResults, attachment: @escaping (String) -> String) {
        self.results = results
        self.attachment = attachment
    }

    /// Writes the file, one test at a time.
    package func write(_ write: (String) throws -> Void) throws {
        let tests = results.tests
        try write("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
        try write("<testsuites\(Self.counts(of: tests, withSkipped: false))>\n")
        for (name, tests) in results.suites {
            let counts = Self.counts(of: tests, withSkipped: true)
            try write("  <testsuite name=\"\(XMLText.attribute(name))\"\(counts)>\n")
            for test in tests { try write(element(test, of: name)) }
            try write("  </testsuite>\n")
        }
        try write("</testsuites>\n")
    }

    private static func counts(of tests: [TestResult], withSkipped: Bool) -> String {
        let errors = tests.filter(\.isError).count
        let failures = tests.filter(\.isFailure).count - errors
        var text = " tests=\"\(tests.count)\" failures=\"\(failures)\" errors=\"\(errors)\""
        if withSkipped { text += " skipped=\"\(tests.filter(\.isSkipped).count)\"" }
        return text + " time=\"\(time(tests.compactMap(\.seconds).reduce(0, +)))\""
    }

    private func element(_ test: TestResult, of className: String) -> String {
        var text =
            "    <testcase classname=\"\(XMLText.attribute(className))\" "
            + "name=\"\(XMLText.attribute(test.test.caseName))\""
        if let seconds = test.seconds { text += " time=\"\(Self.time(seconds))\"" }
        var content = ""
        var isFirst = true
        for run in test.runs where run.attempt.isFailure {
            content += element(run, isFirst: isFirst, isFlaky: test.isFlaky)
            isFirst = false
        }
        if test.isSkipped {
            let reason = test.runs[test.runs.count - 1].attempt.reason ?? ""
            content +=
                "      <skipped message=\"\(XMLText.attribute(reason.abridged(toBytes: Self.attributeLimit)))\"/>\n"
        }
        let bundles = test.runs.flatMap(\.bundles).map { "[[ATTACHMENT|\(attachment($0.path))]]" }
        if !bundles.isEmpty {
            content +=
                "      <system-out>" + XMLText.content(bundles.joined(separator: "\n"))
                + "</system-out>\n"
        }
        return content.isEmpty ? text + "/>\n" : text + ">\n" + content + "    </testcase>\n"
    }

    private func element(_ run: TestResult.Run, isFirst: Bool, isFlaky: Bool) -> String {
        let kind = run.isEnded ? "Error" : "Failure"
        let name = isFlaky ? "flaky" + kind : isFirst ? kind.lowercased() : "rerun" + kind
        let failures = run.failures
        let first = failures.first?.message.prefix { !$0.isNewline } ?? ""
        let head =
            "      <\(name) message=\"\(XMLText.attribute(String(first).abridged(toBytes: Self.attributeLimit)))\" "
            + "type=\"\(XMLText.attribute(Self.type(of: run)))\">"
        var text = failures.map { failure in
            guard let file = failure.file else { return failure.message }
            return file + (failure.line.map { ":\($0)" } ?? "") + ": " + failure.message
        }.joined(separator: "\n")
        text = text.abridged(toBytes: Self.textLimit)
        if let seen = run.bundles.lazy.compactMap(\.seenBefore).first { text += "\n" + seen }
        if let finding = run.bundles.lazy.compactMap(\.finding).first {
            text += "\n" + finding.summary.joined(separator: "\n")
        }
        let content = XMLText.content(text)
        // A repeated run has its text one level lower: see `rerunType` of the schema.
        let isDeep = isFlaky || !isFirst
        return head + (isDeep ? "<stackTrace>\(content)</stackTrace>" : content) + "</\(name)>\n"
    }

    /// Returns the type of failure: the assertion's name, or how the process ended.
    private static func type(of run: TestResult.Run) -> String {
        if let outcome = run.bundles.first?.outcome, outcome != .failed {
            return outcome.rawValue
        }
        if run.isEnded { return "crashed" }
        let message = run.failures.first?.message ?? ""
        let name = message.prefix { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return name.hasPrefix("XCT") && message.dropFirst(name.count).hasPrefix(" failed")
            ? String(name) : "failed"
    }

    /// Returns seconds with three decimals: the schema does not allow more.
    static func time(_ seconds: Double) -> String {
        let milliseconds = Int64(min(max(seconds, 0), 1e9) * 1000 + 0.5)
        let rest = String(milliseconds % 1000)
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
    }

    /// Returns a function that names bundles relative to the directory in which the CI's server looks for them.
    package static func attachment(environment: [String: String]) -> (String) -> String {
        let project = environment["CI_PROJECT_DIR", default: ""]
        let base = project.isEmpty ? Path.currentDirectory : project
        let start = base.hasSuffix("/") ? base : base + "/"
        return { path in
            let path = Path.absolute(path)
            return path.hasPrefix(start) ? String(path.dropFirst(start.count)) : path
        }
    }
}

/// Text in XML 1.0; characters that XML [does not have](https://www.w3.org/TR/xml/#charsets), even as references,
/// become `\u{…}`.
enum XMLText {
    static func content(_ text: String) -> String { escaped(text, inAttribute: false) }

    /// Returns text for use as an attribute's value, where XML readers replace literal line ends with spaces.
    static func attribute(_ text: String) -> String { escaped(text, inAttribute: true) }

    private static func escaped(_ text: String, inAttribute: Bool) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            // Only necessary in `]]>`.
            case ">": result += "&gt;"
            case "\"": result += inAttribute ? "&quot;" : "\""
            case "\t", "\n":
                if inAttribute {
                    result += "&#\(scalar.value);"
                } else {
                    result.unicodeScalars.append(scalar)
                }
            // XML readers replace a literal one with a line feed.
            case "\r": result += "&#13;"
            default:
                if scalar.value >= 0x7F, scalar.isControl {
                    // A terminal would interpret it.
                    result += "&#\(scalar.value);"
                } else if isAllowed(scalar) {
                    result.unicodeScalars.append(scalar)
                } else {
                    result += SafeText.escape(scalar)
                }
            }
        }
        return HostCommand.disarmed(result) { "&#\($0.value);" }
    }

    /// True if XML allows the character; tabs and line ends are handled above; surrogates are not scalars.
    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0xFFFE, 0xFFFF: false
        default: true
        }
    }
}

package import FailureArtifactsBundle

package enum FailureText {
    /// Removes text that says nothing beside the values of an assertion, such as `XCTAssertEqual failed: `.
    package static func essence(of message: String) -> String {
        let caught = "failed: caught error: "
        if message.hasPrefix(caught) { return String(message.dropFirst("failed: ".count)) }
        guard message.hasPrefix("XCT") else { return message }
        // XCTest adds this separator before the assertion's own message, even if the message is empty.
        let text = message.hasSuffix(" - ") ? message.dropLast(3) : message[...]
        // ("1") is not equal to ("2")
        guard let start = text.firstRange(of: " failed: (\""), !text[..<start.lowerBound].contains(" ")
        else { return String(text) }
        return String(text[start.lowerBound...].dropFirst(" failed: ".count))
    }

    /// Returns a failure on one line without its outcome, such as `Index out of range, Cart.swift:42`.
    ///
    /// If several tests were running in a process that crashed, the line begins with the one that crashed, or with
    /// their number.
    package static func headline(of failure: BundleMetadata.Failure?) -> String {
        guard let failure else { return "" }
        guard failure.kind == .termination else {
            let text = SafeText.line(essence(of: failure.message))
            return text.removingPrefix("Expectation failed: ") ?? text.removingPrefix("failed - ")
                ?? inequality(text) ?? text
        }
        var text = end(String(failure.message.prefix { !$0.isNewline }))
        if let file = failure.sourceFile {
            text += ", " + (file.split(separator: "/").last.map(String.init) ?? file)
            text += failure.line.map { ":\($0)" } ?? ""
        }
        if let suspects = failure.suspects {
            var crashed = "one of \(suspects.count) tests"
            if !suspects.includesTest, let first = suspects.tests.first {
                crashed = first + (suspects.tests.count > 1 ? " or another test" : "")
            }
            text = crashed + " crashed: " + text
        }
        return SafeText.line(text)
    }

    /// Returns `1 ≠ 2 - text` for `("1") is not equal to ("2") - text`; nil for other texts and if a value has the words.
    private static func inequality(_ text: String) -> String? {
        let words = text.ranges(of: "\") is not equal to (\"")
        guard words.count == 1, let operands = text.removingPrefix("(\""),
            let middle = operands.firstRange(of: "\") is not equal to (\"")
        else { return nil }
        let (left, rest) = (operands[..<middle.lowerBound], String(operands[middle.upperBound...]))
        if let right = rest.removingSuffix("\")") { return left + " ≠ " + right }
        guard let end = rest.firstRange(of: "\") - ") else { return nil }
        return left + " ≠ " + rest[..<end.lowerBound] + " - " + rest[end.upperBound...]
    }

    /// Returns the first line about the end of a process without words that say nothing beside the outcome.
    private static func end(_ line: String) -> String {
        if let message = line.removingPrefix("Fatal error: ") {
            let error = message.removingPrefix("'try!' expression unexpectedly raised an error: ")
            return error.map { "try! raised " + $0 } ?? message
        }
        for subject in ["The process was ", "The run was ", "The test was "] {
            guard let text = line.removingPrefix(subject)?.removingSuffix(".") else { continue }
            return text.removingSuffix(" in the middle of the test") ?? text
        }
        return line
    }

    /// Returns text such as `Tests/ShopTests.swift:42`; of a crash, which tells no path, `Cart.swift:42 in module
    /// Shop`.
    package static func place(of failure: BundleMetadata.Failure, in root: PackageRoot) -> String? {
        guard let file = failure.sourceFile else { return nil }
        func text(_ file: String) -> String { failure.line.map { "\(file):\($0)" } ?? file }
        let parts = file.split(separator: "/", omittingEmptySubsequences: false)
        let path = root.relativePath(of: file)
        if path != file { return text(path) }
        guard failure.kind == .termination, parts.count == 2, !parts[0].isEmpty else {
            return text(file)
        }
        return text(String(parts[1])) + " in module \(parts[0])"
    }
}

extension BundleMetadata.Failure {
    /// The source file; nil if it is unknown, or if it is the standard library's, whose line is not the crash's cause.
    var sourceFile: String? {
        kind == .termination && file?.hasPrefix("Swift/") == true ? nil : file
    }
}

extension Sequence<[String]?> {
    /// The argument lists of a parameterized test that failed with several ones, as distinct texts; otherwise empty.
    package var argumentTexts: [String] {
        var seen: Set<String> = []
        let all = compactMap(\.self).map { $0.joined(separator: ", ") }.filter {
            seen.insert($0).inserted
        }
        return all.count > 1 ? all : []
    }
}

extension BundleMetadata.Outcome {
    package var label: String {
        switch self {
        case .failed: "failed"
        case .crashed: "crashed"
        case .timedOut: "timed out"
        case .terminated: "terminated"
        case .passed: "passed"
        }
    }
}

extension [BundleMetadata.Store.Table] {
    /// A summary such as `account (3 rows), entry (7 rows)`.
    package var summary: String {
        let limit = 12
        let named = prefix(limit).map { table in
            "\(SafeText.line(table.name)) (\(table.exact ? "" : "≥ ")\(Counted.items(table.rows, "row")))"
        }
        let rest = count - named.count
        return (named + (rest > 0 ? ["\(rest) more"] : [])).joined(separator: ", ")
    }
}

extension BundleMetadata.Store {
    /// The content in a few words, such as `: account (3 rows), in an open transaction`, to be added to the store's name.
    package var contentText: String {
        guard entry != nil else { return ": described only" }
        return (tables.map { $0.isEmpty ? ": no tables" : ": " + $0.summary } ?? "")
            + (committedEntry == nil
                ? "" : isBeforeRollback ? ", before a rollback" : ", in an open transaction")
    }

    /// The description of the connection whose view the copy shows; it is certain to be the test's connection only if
    /// the store is the test's own.
    package var connection: String {
        shared == true || openedBy != nil ? "its connection" : "the test's connection"
    }
}

extension String {
    fileprivate func removingPrefix(_ prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }

    fileprivate func removingSuffix(_ suffix: String) -> String? {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : nil
    }
}

internal import Testing

/// Names and texts of Swift Testing as the metadata has them.
enum TestName {
    /// Returns the suites around a test, outermost first, such as `Outer.Inner`; for a test in no suite, the module.
    static func suite(of test: Test.ID) -> String {
        // The last component is the function.
        let suites = test.nameComponents.dropLast()
        return suites.isEmpty ? test.moduleName : suites.joined(separator: ".")
    }

    /// Returns the function's name, such as `total`, or with its parameters `total(of:in:)`.
    static func name(of test: Test.ID) -> String {
        let name = test.nameComponents.last ?? ""
        return name.hasSuffix("()") ? String(name.dropLast(2)) : name
    }

    /// Returns an issue's text as the console of Swift 6.3 shows it, followed by its comments.
    static func message(of issue: Issue) -> String {
        let comments = issue.comments.map(\.rawValue).joined(separator: "\n")
        let kind = Compatibility.text(of: issue.kind)
        if comments.isEmpty { return kind }
        // `Issue.record("…")` has no other text, and lists of failures have one line for each.
        if case .unconditional = issue.kind { return "\(kind): \(comments)" }
        return "\(kind)\n\(comments)"
    }
}

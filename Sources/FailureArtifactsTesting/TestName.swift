internal import Testing

/// What Swift Testing calls things, in the words of the metadata.
enum TestName {
    /// The suites around a test, outermost first: `Outer.Inner`; the module of a test in none.
    static func suite(of test: Test.ID) -> String {
        // The last name is the function's.
        let suites = test.nameComponents.dropLast()
        return suites.isEmpty ? test.moduleName : suites.joined(separator: ".")
    }

    /// The function: `total`, or with its parameters `total(of:in:)`.
    static func name(of test: Test.ID) -> String {
        let name = test.nameComponents.last ?? ""
        return name.hasSuffix("()") ? String(name.dropLast(2)) : name
    }

    /// The arguments of a case, each as the test's author would see it; nil for a test without parameters.
    ///
    /// Swift Testing has no public access to them, but a mirror sees them (6.0 to 6.3). Where it does not,
    /// there are none.
    static func arguments(of testCase: Test.Case) -> [String]? {
        guard testCase.isParameterized else { return nil }
        return find("arguments", in: testCase, depth: 4).map { arguments in
            Mirror(reflecting: arguments).children.compactMap { argument in
                find("value", in: argument.value, depth: 1).map { String(describingForTest: $0) }
            }
        }
    }

    /// The first child of that label, looked for level by level.
    private static func find(_ label: String, in value: Any, depth: Int) -> Any? {
        let children = Mirror(reflecting: value).children
        if let child = children.first(where: { $0.label == label }) { return child.value }
        guard depth > 0 else { return nil }
        return children.lazy.compactMap { find(label, in: $0.value, depth: depth - 1) }.first
    }

    /// What an issue says, as on the console, and the comments on it below.
    static func message(of issue: Issue) -> String {
        let comments = issue.comments.map(\.rawValue).joined(separator: "\n")
        let kind = String(describing: issue.kind)
        if comments.isEmpty { return kind }
        // `Issue.record("…")` has nothing else to say, and lists of failures have one line for each.
        if case .unconditional = issue.kind { return "\(kind): \(comments)" }
        return "\(kind)\n\(comments)"
    }
}

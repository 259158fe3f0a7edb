extension TestIdentity {
    /// The name in SwiftPM's format: a function of Swift Testing has parentheses.
    package var caseName: String {
        framework == Self.swiftTesting && !name.hasSuffix(")") && !isWholeSuite ? name + "()" : name
    }
}

/// The identity of a test, in the terms of the metadata.
package struct TestIdentity: Hashable, Sendable {
    /// The framework: `XCTest` or `Swift Testing`.
    package var framework: String
    package var module: String?
    /// The suite, without the module.
    package var suite: String
    /// The name, without empty parentheses.
    package var name: String

    package init(framework: String, module: String? = nil, suite: String, name: String) {
        self.framework = framework
        self.module = module
        self.suite = suite
        self.name = name
    }

    package static let xctest = "XCTest"
    package static let swiftTesting = "Swift Testing"
    /// The name that represents failures outside a suite's tests.
    package static let wholeSuite = "suite"

    package var isWholeSuite: Bool { name == Self.wholeSuite }

    /// True if both are the same test; unknown modules match any module.
    package func isSame(as other: TestIdentity) -> Bool {
        framework == other.framework && suite == other.suite && name == other.name
            && (module == nil || other.module == nil || module == other.module)
    }
}

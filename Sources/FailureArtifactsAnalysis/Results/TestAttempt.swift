/// One run of one test, read from a log, an event stream or a bundle.
package struct TestAttempt: Equatable, Sendable {
    /// The outcome of the run.
    package enum Outcome: Equatable, Sendable {
        case passed, failed, skipped
        /// The run started, but its end was not recorded.
        case unfinished
    }

    /// One failure of the run.
    package struct Failure: Equatable, Sendable {
        package var message: String
        /// The source file as the framework reports it; nil if it is unknown.
        package var file: String?
        /// The line number, from 1.
        package var line: Int?

        package init(message: String, file: String? = nil, line: Int? = nil) {
            self.message = message
            self.file = file
            self.line = line
        }
    }

    /// The maximum number of failures kept for one run.
    package static let failureLimit = 100
    /// The maximum size of a message, in bytes of UTF-8.
    ///
    /// It bounds memory when a test prints without end.
    package static let messageLimit = 16 << 10

    package var test: TestIdentity
    package var outcome = Outcome.unfinished
    /// The duration, in seconds; nil if it is unknown.
    package var seconds: Double?
    package var failures: [Failure] = []
    /// The reason for skipping the test.
    package var reason: String?

    package init(
        test: TestIdentity, outcome: Outcome = Outcome.unfinished, seconds: Double? = nil,
        failures: [Failure] = [], reason: String? = nil
    ) {
        self.test = test
        self.outcome = outcome
        self.seconds = seconds
        self.failures = failures
        self.reason = reason
    }

    /// True if the run failed or didn't finish.
    package var isFailure: Bool { outcome == .failed || outcome == .unfinished }

    package mutating func add(_ failure: Failure) {
        guard failures.count < Self.failureLimit else { return }
        failures.append(failure)
    }
}

/// The identity of a test, in the terms of the metadata.
package struct TestIdentity: Hashable, Sendable {
    /// The framework: `XCTest` or `Swift Testing`.
    package var framework: String
    /// The module; nil if it is unknown.
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

    /// True if both are the same test.
    ///
    /// Unknown modules match any module.
    package func isSame(as other: TestIdentity) -> Bool {
        framework == other.framework && suite == other.suite && name == other.name
            && (module == nil || other.module == nil || module == other.module)
    }
}

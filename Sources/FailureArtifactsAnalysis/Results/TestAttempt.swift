/// One run of one test, as a log, an event stream or a bundle tells it.
package struct TestAttempt: Equatable, Sendable {
    /// How it ended.
    package enum Outcome: Equatable, Sendable {
        case passed, failed, skipped
        /// It was started, and nothing tells of its end.
        case unfinished
    }

    /// One failure of it.
    package struct Failure: Equatable, Sendable {
        package var message: String
        /// The source file, as the framework gives it; nil where it does not know.
        package var file: String?
        /// Counts from 1.
        package var line: Int?

        package init(message: String, file: String? = nil, line: Int? = nil) {
            self.message = message
            self.file = file
            self.line = line
        }
    }

    /// The failures that are kept of one run.
    package static let failureLimit = 100
    /// Bytes of UTF-8 that are kept of a message, so that a test that prints without end costs no memory.
    package static let messageLimit = 16 << 10

    package var test: TestIdentity
    package var outcome = Outcome.unfinished
    /// Nil where it is not known.
    package var seconds: Double?
    package var failures: [Failure] = []
    /// Why it was skipped.
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

    /// Whether it ended as it should not.
    package var isFailure: Bool { outcome == .failed || outcome == .unfinished }

    package mutating func add(_ failure: Failure) {
        guard failures.count < Self.failureLimit else { return }
        failures.append(failure)
    }
}

/// Which test it is, in the words of the metadata.
package struct TestIdentity: Hashable, Sendable {
    /// `XCTest` or `Swift Testing`.
    package var framework: String
    /// Nil where it is not known.
    package var module: String?
    /// Without the module.
    package var suite: String
    /// Without empty parentheses.
    package var name: String

    package init(framework: String, module: String? = nil, suite: String, name: String) {
        self.framework = framework
        self.module = module
        self.suite = suite
        self.name = name
    }

    package static let xctest = "XCTest"
    package static let swiftTesting = "Swift Testing"
    /// The name that stands for what goes wrong around a suite's tests.
    package static let wholeSuite = "suite"

    package var isWholeSuite: Bool { name == Self.wholeSuite }

    /// Whether both are of one test, as far as is known.
    package func isSame(as other: TestIdentity) -> Bool {
        framework == other.framework && suite == other.suite && name == other.name
            && (module == nil || other.module == nil || module == other.module)
    }
}

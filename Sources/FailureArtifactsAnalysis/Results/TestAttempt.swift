/// One run of one test, read from a log, an event stream or a bundle.
package struct TestAttempt: Equatable, Sendable {
    package enum Outcome: Equatable, Sendable {
        case passed, failed, skipped
        /// The run started, but its end was not recorded.
        case unfinished
    }

    package struct Failure: Equatable, Sendable {
        package var message: String
        /// The source file as the framework reports it; nil if it is unknown.
        package var file: String?
        package var line: Int?

        package init(message: String, file: String? = nil, line: Int? = nil) {
            self.message = message
            self.file = file
            self.line = line
        }
    }

    package static let failureLimit = 100
    /// The maximum size of a message, in bytes of UTF-8; it bounds memory when a test prints without end.
    package static let messageLimit = 16 << 10

    package var test: TestIdentity
    package var outcome = Outcome.unfinished
    package var seconds: Double?
    package var failures: [Failure] = []
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

    package var isFailure: Bool { outcome == .failed || outcome == .unfinished }

    package mutating func add(_ failure: Failure) {
        guard failures.count < Self.failureLimit else { return }
        failures.append(failure)
    }
}

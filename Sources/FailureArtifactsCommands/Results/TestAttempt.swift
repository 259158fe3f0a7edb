/// One run of one test, as a log, an event stream or a bundle tells it.
struct TestAttempt: Equatable, Sendable {
    /// How it ended.
    enum Outcome: Equatable, Sendable {
        case passed, failed, skipped
        /// It was started, and nothing tells of its end.
        case unfinished
    }

    /// One failure of it.
    struct Failure: Equatable, Sendable {
        var message: String
        /// The source file, as the framework gives it; nil where it does not know.
        var file: String?
        /// Counts from 1.
        var line: Int?
    }

    /// The failures that are kept of one run.
    static let failureLimit = 100
    /// Bytes of UTF-8 that are kept of a message, so that a test that prints without end costs no memory.
    static let messageLimit = 16 << 10

    var test: TestIdentity
    var outcome = Outcome.unfinished
    /// Nil where it is not known.
    var seconds: Double?
    var failures: [Failure] = []
    /// Why it was skipped.
    var reason: String?

    /// Whether it ended as it should not.
    var isFailure: Bool { outcome == .failed || outcome == .unfinished }

    mutating func add(_ failure: Failure) {
        guard failures.count < Self.failureLimit else { return }
        failures.append(failure)
    }
}

/// Which test it is, in the words of the metadata.
struct TestIdentity: Hashable, Sendable {
    /// `XCTest` or `Swift Testing`.
    var framework: String
    /// Nil where it is not known.
    var module: String?
    /// Without the module.
    var suite: String
    /// Without empty parentheses.
    var name: String

    static let xctest = "XCTest"
    static let swiftTesting = "Swift Testing"
    /// The name that stands for what goes wrong around a suite's tests.
    static let wholeSuite = "suite"

    var isWholeSuite: Bool { name == Self.wholeSuite }

    /// Whether both are of one test, as far as is known.
    func isSame(as other: TestIdentity) -> Bool {
        framework == other.framework && suite == other.suite && name == other.name
            && (module == nil || other.module == nil || module == other.module)
    }
}

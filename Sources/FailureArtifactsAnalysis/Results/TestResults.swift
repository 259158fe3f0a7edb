internal import FailureArtifactsBundle

/// A test with all its runs; a test may be repeated.
package struct TestResult: Sendable {
    package struct Run: Sendable {
        package var attempt: TestAttempt
        /// The bundles; a parameterized test has one for each argument that failed.
        package var bundles: [ReportedBundle] = []

        /// True if the run crashed, hung or was told to stop.
        package var isEnded: Bool {
            guard attempt.isFailure else { return false }
            guard !bundles.isEmpty else { return attempt.outcome == .unfinished }
            return bundles.contains { $0.outcome != .failed }
        }

        /// The failures from the bundles, whose messages are complete, or else from the log.
        package var failures: [TestAttempt.Failure] {
            let told = bundles.flatMap { bundle in
                let arguments = bundle.arguments ?? []
                let of = arguments.isEmpty ? "" : " (" + arguments.joined(separator: ", ") + ")"
                return bundle.failures.map {
                    TestAttempt.Failure(message: $0.message + of, file: $0.file, line: $0.line)
                }
            }
            if !told.isEmpty { return told }
            if attempt.failures.isEmpty, attempt.outcome == .unfinished {
                return [TestAttempt.Failure(message: "The process ended in the middle of the test.")]
            }
            return attempt.failures
        }
    }

    package var test: TestIdentity
    /// The runs, in order; never empty.
    package var runs: [Run]

    package var isFailure: Bool { runs[runs.count - 1].attempt.isFailure }
    /// True if the test failed and then passed when it was repeated.
    package var isFlaky: Bool { !isFailure && runs.contains { $0.attempt.isFailure } }
    package var isSkipped: Bool { runs[runs.count - 1].attempt.outcome == .skipped }
    package var isError: Bool { isFailure && runs.first { $0.attempt.isFailure }?.isEnded == true }
    /// The total duration of all runs, in seconds; nil if it is unknown.
    package var seconds: Double? {
        let known = runs.compactMap(\.attempt.seconds)
        return known.isEmpty ? nil : known.reduce(0, +)
    }
}

/// All tests of a run, combined from logs, event streams and bundles.
package struct TestResults: Sendable {
    package private(set) var tests: [TestResult] = []
    /// The indices of the tests, by identity without the module.
    private var places: [TestIdentity: [Int]] = [:]

    /// Combines attempts, in order, with the bundles of failed tests; `report` tells only about tests without others.
    package init(
        attempts: [TestAttempt] = [], report: [TestAttempt] = [], bundles: [ReportedBundle]
    ) {
        for attempt in attempts {
            tests[place(of: attempt.test)].runs.append(TestResult.Run(attempt: attempt))
        }
        for attempt in report {
            let index = place(of: attempt.test)
            if tests[index].runs.isEmpty { tests[index].runs.append(TestResult.Run(attempt: attempt)) }
        }
        for bundle in bundles.sorted(by: { ($0.at, $0.path) < ($1.at, $1.path) }) {
            tests[place(of: bundle.test)].add(bundle)
        }
    }

    private mutating func place(of test: TestIdentity) -> Int {
        var key = test
        key.module = nil
        if let index = places[key]?.first(where: { tests[$0].test.isSame(as: test) }) {
            if tests[index].test.module == nil { tests[index].test.module = test.module }
            return index
        }
        places[key, default: []].append(tests.count)
        tests.append(TestResult(test: test, runs: []))
        return tests.count - 1
    }

    /// The tests by their class name in JUnit: the suite, with its module only if several modules have such a suite.
    ///
    /// Bundles and serial logs don't tell the module. So a class has the same name in all results.
    package var suites: [(name: String, tests: [TestResult])] {
        var modules: [String: Set<String>] = [:]
        for test in tests.map(\.test) where test.module != nil && test.module != test.suite {
            modules[test.suite, default: []].insert(test.module ?? "")
        }
        func name(_ test: TestIdentity) -> String {
            guard let module = test.module, modules[test.suite, default: []].count > 1 else {
                return test.suite
            }
            return module + "." + test.suite
        }
        return tests.grouped { name($0.test) }.map { (name: name($0[0].test), tests: $0) }
    }
}

extension TestResult {
    /// Assigns a bundle to a failed run without one for its arguments, preferably one with the same message.
    fileprivate mutating func add(_ bundle: ReportedBundle) {
        let arguments = bundle.arguments
        let free = runs.indices.filter { index in
            runs[index].attempt.isFailure
                && !runs[index].bundles.contains { $0.arguments == arguments }
        }
        let message = Self.firstLine(bundle.failures.first?.message)
        let index =
            free.first { index in
                runs[index].attempt.failures.contains { Self.firstLine($0.message) == message }
            } ?? free.first
        if let index {
            runs[index].bundles.append(bundle)
        } else {
            // The run isn't in the logs. It comes after the runs that have bundles and before the others.
            var attempt = TestAttempt(test: test)
            attempt.outcome = bundle.outcome == .failed ? .failed : .unfinished
            runs.insert(Run(attempt: attempt, bundles: [bundle]), at: lastBundled + 1)
        }
    }

    /// The index of the last run that has bundles, or -1.
    private var lastBundled: Int { runs.lastIndex { !$0.bundles.isEmpty } ?? -1 }

    private static func firstLine(_ message: String?) -> Substring? {
        message?.prefix { !$0.isNewline }
    }
}

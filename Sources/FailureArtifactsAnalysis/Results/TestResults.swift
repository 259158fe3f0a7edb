internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// A test with all its runs, which may have been repeated.
package struct TestResult: Sendable {
    /// A run with the bundles that it left.
    package struct Run: Sendable {
        package var attempt: TestAttempt
        /// Several of a parameterised test: one for each argument that failed.
        package var bundles: [ResultBundle] = []

        /// Crashed, hung or told to stop, rather than failed.
        package var isEnded: Bool {
            guard attempt.isFailure else { return false }
            guard !bundles.isEmpty else { return attempt.outcome == .unfinished }
            return bundles.contains { $0.outcome != .failed }
        }

        /// What went wrong: as the bundles have it, whose messages are whole, or else the log.
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
    /// In their order; never empty.
    package var runs: [Run]

    /// The outcome of the last run is the test's.
    package var isFailure: Bool { runs[runs.count - 1].attempt.isFailure }
    /// Failed, and passed when it was repeated.
    package var isFlaky: Bool { !isFailure && runs.contains { $0.attempt.isFailure } }
    package var isSkipped: Bool { runs[runs.count - 1].attempt.outcome == .skipped }
    package var isError: Bool { isFailure && runs.first { $0.attempt.isFailure }?.isEnded == true }
    /// Of all runs.
    package var seconds: Double? {
        let known = runs.compactMap(\.attempt.seconds)
        return known.isEmpty ? nil : known.reduce(0, +)
    }
}

/// All tests of a run, from what logs, event streams and bundles tell.
package struct TestResults: Sendable {
    /// In the order the tests were first heard of.
    package private(set) var tests: [TestResult] = []
    /// Their indices, by what is known of each but the module.
    private var places: [TestIdentity: [Int]] = [:]

    /// Puts together what is known.
    ///
    /// - Parameters:
    ///   - attempts: Of logs and event streams, in their order.
    ///   - report: What SwiftPM says of tests that ran in parallel; of use where there is no other word of them.
    ///   - bundles: What failing tests left.
    package init(
        attempts: [TestAttempt], report: [TestAttempt] = [], bundles: [ResultBundle]
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

    /// The index of a test, which is added where it is new.
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

    var failures: [TestResult] { tests.filter(\.isFailure) }

    /// Tests of Swift Testing that failed and left no bundle, as do those without the trait.
    ///
    /// A test that was cut off isn't among them: another test's crash may have ended it before it failed.
    package var failedWithoutBundle: [TestIdentity] {
        tests.filter { result in
            result.test.framework == TestIdentity.swiftTesting && !result.test.isWholeSuite
                && result.runs.contains { $0.attempt.outcome == .failed }
                && result.runs.allSatisfy(\.bundles.isEmpty)
        }.map(\.test)
    }

    /// By suite, in their order.
    package var suites: [(name: String, tests: [TestResult])] {
        var suites: [(name: String, tests: [TestResult])] = []
        var places: [String: Int] = [:]
        for test in tests {
            let name = test.test.className
            if let index = places[name] {
                suites[index].tests.append(test)
            } else {
                places[name] = suites.count
                suites.append((name: name, tests: [test]))
            }
        }
        return suites
    }
}

extension TestResult {
    /// Gives a bundle to the run that left it: one that failed in the same words, or the next that has none.
    fileprivate mutating func add(_ bundle: ResultBundle) {
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
            // Nothing tells of it: it was before what does.
            var attempt = TestAttempt(test: test)
            attempt.outcome = bundle.outcome == .failed ? .failed : .unfinished
            runs.insert(Run(attempt: attempt, bundles: [bundle]), at: lastBundled + 1)
        }
    }

    /// Before the first run that left none.
    private var lastBundled: Int { runs.lastIndex { !$0.bundles.isEmpty } ?? -1 }

    private static func firstLine(_ message: String?) -> Substring? {
        message?.prefix { !$0.isNewline }
    }
}

extension TestIdentity {
    /// What JUnit calls the class: `Module.Class`, or less where no more is known.
    package var className: String {
        guard let module, module != suite else { return suite }
        return module + "." + suite
    }

    /// As SwiftPM names it: a function of Swift Testing has parentheses.
    package var caseName: String {
        framework == Self.swiftTesting && !name.hasSuffix(")") && !isWholeSuite ? name + "()" : name
    }
}

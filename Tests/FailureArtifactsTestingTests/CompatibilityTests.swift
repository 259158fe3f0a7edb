import FailureArtifactsBundle
import Testing

@testable import FailureArtifactsTesting

@Suite struct CompatibilityTests {
    @Test(arguments: ["apple", "果物"], [1, 2])
    func argumentsAreSeenInAMirror(_ text: String, _ number: Int) throws {
        let testCase = try #require(Test.Case.current)
        #expect(Compatibility.arguments(of: testCase) == [String(describingForTest: text), "\(number)"])
    }

    @Test func testWithoutParametersHasNoArguments() throws {
        #expect(Compatibility.arguments(of: try #require(Test.Case.current)) == nil)
    }

    @Test(.timeLimit(.minutes(60))) func timeLimitEndsATestThatHasReachedIt() throws {
        let test = try #require(Test.current)
        #expect(Compatibility.timeLimitMessage(for: test, after: 60) == nil)
        #expect(
            Compatibility.timeLimitMessage(for: test, after: 3600)
                == "Time limit was exceeded: 3600.000 seconds")
    }

    @Test func testWithoutTimeLimitIsNotEndedByOne() throws {
        #expect(Compatibility.timeLimitMessage(for: try #require(Test.current), after: 1e6) == nil)
    }

    @Test func cancellationErrorOfARunningTaskIsAFailure() async {
        #expect(!Compatibility.isCancellation(CancellationError()))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return Compatibility.isCancellation(CancellationError())
        }
        #expect(await task.value)
        #expect(!Compatibility.isCancellation(Rotten()))
    }

    /// An expression as Swift Testing 6.4 keeps it.
    private struct Expression: CustomStringConvertible {
        var description: String
        var runtimeValue: Value?
        // swift-format-ignore: NoLeadingUnderscores
        var _subexpressions: [Expression] = []

        struct Value: CustomStringConvertible {
            var description: String
            var children: [Value]?
        }
    }

    @Test func valuesOfAnExpressionAreSeenInAMirror() {
        let operands = [
            Expression(description: "a", runtimeValue: .init(description: "1", children: [])),
            Expression(description: "b", runtimeValue: .init(description: "2")),
        ]
        let expression = Expression(
            description: "a == b", runtimeValue: .init(description: "false"), _subexpressions: operands)
        #expect(Compatibility.expression(expression).text == "(a → 1) == (b → 2)")
        #expect(Compatibility.expression(Expression(description: "a")).text == "a")
    }

    /// Returns the message of the issue that a closure records.
    private func message(of body: @Sendable () -> Void) async throws -> String? {
        nonisolated(unsafe) var message: String?
        let scope = IssueHandlingTrait.compactMapIssues {
            message = TestName.message(of: $0)
            return nil
        }
        try await scope.provideScope(
            for: try #require(Test.current), testCase: .current, performing: body)
        return message
    }

    /// The values are in the message whatever the version of Swift Testing is.
    @Test func messageOfAFailedExpectationHasItsValues() async throws {
        let (apples, pears) = (1, 2)
        let message = try await message { #expect(apples == pears, "a comment") }
        #expect(message == "Expectation failed: (apples → 1) == (pears → 2)\na comment")
    }

    @Test func namesAreThoseOfTheMetadata() throws {
        let id = try #require(Test.current).id
        #expect(TestName.suite(of: id) == "CompatibilityTests")
        #expect(TestName.name(of: id) == "namesAreThoseOfTheMetadata")
    }

    @Test(arguments: [1]) func nameOfAParameterizedTestHasItsLabels(_ number: Int) throws {
        #expect(
            TestName.name(of: try #require(Test.current).id)
                == "nameOfAParameterizedTestHasItsLabels(_:)")
    }
}

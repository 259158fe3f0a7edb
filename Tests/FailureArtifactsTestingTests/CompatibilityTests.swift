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

    @Test(.timeLimit(.minutes(1))) func timeLimitEndsATestThatHasReachedIt() throws {
        let test = try #require(Test.current)
        #expect(Compatibility.timeLimitMessage(for: test, after: 1) == nil)
        #expect(
            Compatibility.timeLimitMessage(for: test, after: 60)
                == "Time limit was exceeded: 60.000 seconds")
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

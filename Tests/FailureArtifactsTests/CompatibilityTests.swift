import Testing
import XCTest

@testable import FailureArtifacts

@Suite struct CompatibilityTests {
    @Test(arguments: [
        ("OutcomeTests.testFails", "testFails"),
        ("-[FailureArtifactsTests.OutcomeTests testFails]", "testFails"),
        ("OutcomeTests.test_CoreData内の果物を更新できる", "test_CoreData内の果物を更新できる"),
        ("anything else", "anything else"), ("-[]", "-["),
    ])
    func methodNameIsPartOfTheTestName(_ test: String, _ method: String) {
        #expect(SuiteName(of: OutcomeTests.self).name == "OutcomeTests")
        #expect(SuiteName(of: OutcomeTests.self).methodName(of: test) == method)
    }

    #if !canImport(ObjectiveC)
    @Test func thrownErrorHasNoLocation() {
        #expect(Compatibility.isThrownError(file: "<EXPR>", line: 7))
        #expect(Compatibility.isThrownError(file: "Tests.swift", line: 0))
        #expect(!Compatibility.isThrownError(file: "Tests.swift", line: 7))
        #expect(!Compatibility.isThrownError(file: nil, line: 7))
    }
    #endif
}

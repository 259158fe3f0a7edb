import FailureArtifactsAnalysis
import Testing

@testable import FailureArtifactsTestRun

@Suite struct SwiftPMReportTests {
    @Test func swiftPMsReport() {
        let attempts = SwiftPMReport.attempts(
            """
            <?xml version="1.0" encoding="UTF-8"?>

            <testsuites>
            <testsuite name="TestResults" errors="0" tests="2" failures="1" time="0.126157345">
            <testcase classname="XT.ATests" name="testFail" time="0.018">
            <failure message="failure"></failure>
            </testcase>
            <testcase classname="XT.A&amp;&lt;B" name="testPass" time="0.02">
            </testcase>
            </testsuite>
            <testcase classname="broken" name="x"><testcase
            """)
        #expect(attempts.map(\.outcome) == [.failed, .passed])
        #expect(attempts.map(\.test.suite) == ["ATests", "A&<B"])
        #expect(attempts.map(\.seconds) == [0.018, 0.02])
    }
}

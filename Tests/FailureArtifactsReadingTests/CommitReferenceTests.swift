import FailureArtifactsReading
import Testing

@Suite struct CommitReferenceTests {
    @Test(arguments: [
        ("0", 0), ("1", 1), ("3", 3), ("last", 3), ("-1", 3), ("-2", 2), ("-4", 0), ("007", nil),
        ("4", nil),
        ("-5", nil), ("9223372036854775807", nil), ("-9223372036854775808", nil),
    ])
    func aStateIsMeant(text: String, state: Int?) throws {
        let reference = try #require(CommitReference(text))
        #expect(reference.state(of: 3) == state)
        #expect(reference.description == text)
    }

    @Test(arguments: [
        "", "-", "--1", "+1", " 1", "1 ", "1.0", "first", "LAST", "-last", "0x1", "-0", "١",
        "99999999999999999999",
    ])
    func otherTextMeansNothing(text: String) {
        #expect(CommitReference(text) == nil)
    }
}

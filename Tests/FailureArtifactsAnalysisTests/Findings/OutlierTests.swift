import FailureArtifactsReading
import Testing

@testable import FailureArtifactsAnalysis

@Suite struct OutlierTests {
    private func value(_ literal: String) -> StoredValue {
        if literal == "NULL" { return StoredValue(.null) }
        if let number = Int64(literal) { return StoredValue(.integer(number)) }
        if let number = Double(literal) { return StoredValue(.real(number)) }
        return StoredValue(.text(Array(literal.utf8)))
    }

    @Test(arguments: [
        (["open", "open", "Open", "open", "open"], 2), (["1", "2", "NULL", "4", "5"], 2),
        (["2026-03-01", "2026-03-02", "02.03.2026", "2026-03-04", "2026-03-05"], 2),
        (["5", "6", "x", "7", "8"], 2), (["5", "6", "-7", "8", "9"], 2),
        (["5", "600", "7", "8", "9"], 1), (["0.05", "7", "8", "9", "6"], 0),
    ])
    func theOnlyValueUnlikeAllOthersIsFound(values: [String], place: Int) throws {
        let found = try #require(Outlier.outlier(in: values.map(value)))
        #expect(found.place == place)
    }

    @Test(arguments: [
        ["1", "2", "NULL", "4"], ["1", "NULL", "NULL", "4", "5"], ["a", "B", "c-d", "e f", "g"],
        ["5", "600", "700", "8", "9"], ["-5", "-6", "7", "8", "9"], ["0", "1", "2", "3", "4"], [],
    ])
    func fewOrDifferentValuesHaveNone(values: [String]) {
        #expect(Outlier.outlier(in: values.map(value)) == nil)
    }
}

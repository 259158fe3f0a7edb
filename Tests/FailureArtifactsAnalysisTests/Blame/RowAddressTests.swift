import Testing

@testable import FailureArtifactsAnalysis

@Suite struct RowAddressTests {
    @Test(
        arguments: [
            (["t", "1"], "t", ["1"], nil), (["t", "1", "x y"], "t", ["1", "x y"], nil),
            (["t", "WHERE a = 1"], "t", [], "a = 1"), (["t", "where", "a", "=", "1"], "t", [], "a = 1"),
            (["t where(a)"], "t", [], "(a)"), (["a b", "1"], "a b", ["1"], nil),
            (["t", "where"], "t", ["where"], nil), (["t", "whereabouts"], "t", ["whereabouts"], nil),
        ] as [([String], String, [String], String?)])
    func keysAndConditions(
        _ words: [String], _ table: String, _ key: [String], _ condition: String?
    ) throws {
        let address = try #require(RowAddress(words))
        #expect(address.table == table)
        #expect(address.key == key)
        #expect(address.condition == condition)
    }

    @Test(arguments: [[], ["t"], ["t where"], ["two words"]]) func nothing(_ words: [String]) {
        #expect(RowAddress(words) == nil)
    }

    @Test(arguments: [
        ("transferId", "transferID"), ("tranferID", "transferID"), ("accounts", "account"), ("x", nil),
        ("id", "id"), ("zzzzzz", nil),
    ])
    func nearestNames(_ name: String, _ nearest: String?) {
        let names = ["account", "transferID", "id", "v"]
        #expect(Spelling.nearest(to: name, among: names) == nearest)
    }
}

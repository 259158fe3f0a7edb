import FailureArtifactsReading
import Testing

@testable import FailureArtifactsAnalysis

/// Texts and numbers that differ from the others of their column.
@Suite struct TextOutliersTests {
    private func outliers(_ texts: [String]) -> TextOutliers? {
        TextOutliers(texts.map { (text: $0, count: 1) })
    }

    @Test(arguments: [
        (["AB-1", "AB-22", "CD-3", "ab4"], ["ab4"]),
        (["a@b.c", "d@e.f", "g@h.i", "g@h.i "], ["g@h.i "]),
        (["10 m", "20 m", "30 m", "1.2 km"], ["1.2 km"]),
        (["21 Nov 2026", "3 May 2026", "1 Dec 2025", "soon"], ["soon"]),
        (["+49 30 123", "+49 89 4567", "+1 212 55", "none"], ["none"]),
        (["2026-11-21 07:08", "2026-11-21 17:08", "2026-1-2 7:8", "yesterday"], ["yesterday"]),
        // A date without a zero, and one in another order.
        (["2026-11-01", "2026-11-02", "2026-11-5", "2026-11-12"], ["2026-11-5"]),
        (["2026-05-01", "2026-05-02", "2026-05-03", "2026-05-04", "5/13/2026"], ["5/13/2026"]),
        (["10115", "20095", "50667", "80331", "Hamburg"], ["Hamburg"]),
        (
            ["9780061120084", "9780441478125", "9780765346292", "978-0-441-47812-5"],
            ["978-0-441-47812-5"]
        ),
        (["ann@a.example", "bo.li@b.example", "carl7@c.example.org", "dora"], ["dora"]),
        (["{\"a\": 1}", "{\"b\": [2]}", "{}", "a=1"], ["a=1"]),
        (
            ["https://a.example/1", "https://b.example", "https://c.example/?d", "a.example"],
            ["a.example"]
        ),
    ])
    func textsOfAnotherFormAreFound(texts: [String], odd: [String]) throws {
        let found = try #require(outliers(texts))
        #expect(found.texts == odd)
    }

    @Test(arguments: [
        ["one", "two", "Three", "four"],
        ["Buy the milk", "Call an uncle", "Plant tulips", "Wash the car", "Water my plants"],
        ["Buy 3 eggs", "Call 12 people", "Mow 2 lawns", "Plant tulips"],
        ["Buy eggs, ham", "Call Ann, please", "Mow lawns, both", "Plant tulips"],
        ["Ann Smith", "Bo Li", "Carl Maria", "dora"], ["Aiko", "Ben", "Cleo", "Dan", "dora"],
        ["Milk", "Eggs", "Bread", "Flour", "Tulips for mum"],
        // Names that tests number, and sentences with numbers.
        ["Order 12", "Order 7", "Order 310", "Bestellung"],
        ["customer1", "customer2", "customer12", "eva"],
        ["Company 1", "Company 2", "Company 3", "Company 7 GmbH"],
        ["imported-1", "imported-2", "imported-3", "x9"],
        ["Text of note 1", "Text of note 2", "Text of note 3", "Packing list 2"],
        ["Part 1 is about 12.", "Part 2 is about 13.", "Part 3 is about 14.", "Part 4 was cut."],
        // A word among codes.
        ["A-100", "A-101", "A-102", "GIFT"], ["A1", "B2", "C3", "Annex"],
        // Addresses of different forms.
        ["user1@a.example", "user2@a.example", "user3@a.example", "ops@b.example.org"],
        // Two forms that are about as frequent.
        ["2026-01-01", "2026-01-02", "2026-01-03", "soon", "later"],
    ])
    func namesAndFreeTextHaveNoCommonForm(texts: [String]) {
        #expect(outliers(texts) == nil)
    }

    @Test func rowsCountRatherThanDifferentTexts() {
        let values = [("2026-01-01", 1.0), ("2026-01-02", 1), ("2026-01-03", 1), ("later", 2)]
        #expect(TextOutliers(values.map { (text: $0.0, count: $0.1) }) == nil)
        let notes = [("", 5.0), ("A bench", 1), ("A tree", 1), ("Seeds", 1), ("Tools", 1)]
        #expect(TextOutliers(notes.map { (text: $0.0, count: $0.1) }) == nil)
        #expect(
            TextOutliers([("", 1), ("A bench", 1), ("A tree", 1)].map { (text: $0.0, count: $0.1) })?
                .kind == .empty)
    }

    @Test func textsThatDifferInTheirCase() throws {
        let found = try #require(
            TextOutliers([
                (text: "Paid", count: 1), (text: "done", count: 4), (text: "open", count: 2),
                (text: "paid", count: 3),
            ]))
        #expect(found.kind == .letterCase && found.texts == ["Paid"])
        #expect(
            found.explanation("state", of: 4) == "'Paid' equals 'paid' except for upper and lower case.")
        // Letter case has a meaning in a column in which it often differs.
        #expect(outliers(["a", "A", "b", "B", "c", "C", "d"]) == nil)
    }

    @Test func textsThatDifferInTheirNormalization() throws {
        let values = ["Bo Li", "Jose\u{301} Silva", "José Silva", "Zoe"]
        let found = try #require(outliers(values))
        #expect(found.kind == .normalization)
        // Neither is the wrong one.
        #expect(found.texts.map(\.utf8.count).sorted() == [11, 12])
        #expect(
            found.explanation("name", of: 4)
                == "'Jose\u{301} Silva' is stored as 12 and 11 bytes that look alike. Compare hex(name)."
        )
    }

    @Test func indefiniteArticles() {
        let names = [
            "email", "user", "address", "uuid", "url", "update", "hour", "euro", "price", "order", "one",
        ]
        #expect(
            names.map(Article.indefinite) == [
                "an email", "a user", "an address", "a uuid", "a url", "an update", "an hour", "a euro",
                "a price", "an order", "a one",
            ])
    }

    // MARK: - Numbers

    private func odd(_ numbers: [Double]) -> NumberOutlier.Odd? {
        let counts = Dictionary(grouping: numbers) { $0 }
        return NumberOutlier.Odd(
            counts.sorted { $0.key < $1.key }.map {
                (StoredValue(.real($0.key)), Double($0.value.count))
            })
    }

    @Test(
        arguments: [
            (
                1_767_225_600_000, (0..<9).map { 1_767_225_600.0 + Double($0) * 86_400 },
                NumberOutlier.Odd.Kind.large
            ),
            (1_767_225_600, (0..<9).map { 1_767_225_600_000.0 + Double($0) * 86_400_000 }, .small),
            (-23_341, [1_200, 2_400, 5_000, 5_000, 7_000, 10_000, 12_000, 42_195], .negative),
        ] as [(Double, [Double], NumberOutlier.Odd.Kind)])
    func numbersOfAnotherMagnitude(number: Double, others: [Double], kind: NumberOutlier.Odd.Kind) throws
    {
        let found = try #require(odd(others + [number]))
        #expect(found.kind == kind && found.values == [StoredValue(.real(number))])
        // Among fewer, it is no exception.
        #expect(odd(others.prefix(7) + [number]) == nil)
    }

    @Test(
        arguments: [
            // Amounts of all sizes, several negative ones, zeros, and small ones among amounts of all sizes.
            [1, 5, 20, 80, 400, 1_900, 8_000, 30_000, 200_000, 900_000],
            [-5, -3, 1, 2, 3, 4, 5, 6, 7, 8, 9],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 1_000],
            [1, 600, 900, 2_000, 5_000, 7_000, 9_000, 20_000, 60_000],
        ] as [[Double]])
    func otherNumbersAreAsTheyMayBe(numbers: [Double]) {
        #expect(odd(numbers) == nil)
    }
}

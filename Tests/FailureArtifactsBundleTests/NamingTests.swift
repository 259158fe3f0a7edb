import FailureArtifactsBundle
import FailureArtifactsSystem
import Testing

@Suite struct NamingTests {
    private func name(_ suite: String, _ test: String, suffix: String? = nil) -> String {
        let identity = BundleMetadata.Test(framework: "XCTest", suite: suite, name: test)
        return BundleName(test: identity, suffix: suffix, random: 0xbeef).description
    }

    @Test func aNameSaysSuiteAndTest() {
        #expect(name("LedgerTests", "testTotal") == "LedgerTests.testTotal-0000beef.zip")
        #expect(
            name("LedgerTests", "testTotal", suffix: "crashed")
                == "LedgerTests.testTotal-crashed-0000beef.zip")
        #expect(
            name("FruitTests", "test_CoreData内の果物を更新できる")
                == "FruitTests.test_CoreData内の果物を更新できる-0000beef.zip")
    }

    @Test(arguments: ["total(of:in:)", "total(_:)", "total"]) func labelsOfParametersAreLeftOut(
        test: String
    ) {
        #expect(name("LedgerTests", test) == "LedgerTests.total-0000beef.zip")
    }

    @Test(arguments: ["`total (of:)`", "(:)", "total()"]) func whatOnlyLooksLikeLabelsStays(test: String)
    {
        #expect(name("LedgerTests", test) != "LedgerTests.total-0000beef.zip")
    }

    @Test(arguments: [
        "a/b", "a\\b", "a:b", "a*b", "a?b", "a\"b", "a<b>c", "a|b", "a\rb", "a\nb", "a\u{0}b", "a b",
        "a$b",
        "a`b", "a'b", "a;b", "a&b", "a(b)", "a\u{202E}b", "a\u{200B}b", "~a", "-a", ".a", "..", "",
        "e\u{301}", "a" + String(repeating: "\u{301}", count: 200),
        "😀", "नमस्ते", "CON", "nul.txt", "com1", "a.", "!\u{7f}",
    ])
    func nothingInANameTroublesAFileSystem(text: String) throws {
        let result = SafeName.make(from: text, maximumBytes: 100)
        let forbidden = Set("\"':<>|*?\r\n\\/ $`;&()~!\u{0}\u{7f}\u{202E}\u{200B}😀".unicodeScalars)
        #expect(!result.isEmpty && result.utf8.count <= 100)
        #expect(result.unicodeScalars.allSatisfy { !forbidden.contains($0) })
        #expect(!result.hasPrefix(".") && !result.hasPrefix("-") && !result.hasSuffix("."))
        #expect(
            !["con", "nul", "com1"].contains(
                result.lowercased().split(separator: ".").first.map(String.init)))
    }

    @Test func lettersAndMarksOfEveryScriptStay() {
        for text in ["e\u{301}", "नमस्ते", "が", "Ωμέγα", "año_2-x.y"] {
            #expect(SafeName.make(from: text, maximumBytes: 100) == text)
        }
    }

    @Test func aLongNameIsCutBetweenCharacters() {
        for character in ["a", "果", "が", "👨‍👩‍👧"] {
            let result = name("S", String(repeating: character, count: 300))
            #expect(result.utf8.count <= 200)
            #expect(result.hasSuffix("-0000beef.zip"))
            let kept = result.dropFirst(2).dropLast("-0000beef.zip".count)
            #expect(kept.allSatisfy { String($0) == character || $0 == "_" })
        }
        #expect(name("S", String(repeating: "a", count: 300)).utf8.count >= 195)
    }

    @Test func namesAreToldApartWhateverTheirCase() {
        var names = UniqueNames()
        #expect(names.claim("store") == "store")
        #expect(names.claim("Store") == "Store-2")
        #expect(names.claim("store") == "store-3")
        #expect(names.claim("log", suffix: ".txt") == "log.txt")
        #expect(names.claim("log", suffix: ".txt") == "log-2.txt")
    }

    /// APFS and NTFS compare names in this way.
    @Test(arguments: [
        ("caf\u{e9}", "cafe\u{301}"), ("CAF\u{c9}", "cafe\u{301}"), ("σ", "ς"), ("s", "ſ"),
        ("k", "\u{212A}"), ("straße", "STRASSE"), ("ÅSA", "a\u{30a}sa"),
    ])
    func namesThatAFileSystemTakesForOneAreToldApart(_ first: String, _ second: String) {
        for (first, second) in [(first, second), (second, first)] {
            var names = UniqueNames()
            #expect(names.claim(first) == first)
            #expect(Array(names.claim(second).utf8) == Array((second + "-2").utf8))
        }
        var names = UniqueNames(taken: [first])
        #expect(names.claim(second) != second)
    }

    @Test(arguments: [
        ["x", "x.committed"], ["x.committed", "x"], ["x", "X.Committed", "x.committed.committed"],
        ["x.committed", "x", "x-2.committed", "x-2"], ["x", "x-2.committed", "x"],
        [String(repeating: "果", count: 60), String(repeating: "果", count: 61)],
        [String(repeating: "a", count: 140) + ".committed", String(repeating: "a", count: 140)],
        ["a b", "a_b", "a?b"],
    ])
    func noTwoEntriesOfStoresCollide(_ stores: [String]) {
        var names = StoreNames()
        let entries = stores.map { StoreEntries(of: names.claim($0), in: "stores") }
        let all = entries.flatMap { entry in
            [entry.copy, entry.committed, entry.history, entry.statements]
                + ["", "-wal", "-journal"].map { entry.raw + $0 }
        }
        #expect(Set(all.map { $0.lowercased() }).count == 7 * stores.count)
        #expect(all.allSatisfy { ($0.split(separator: "/").last?.utf8.count ?? 0) <= 200 })
    }

    @Test func namesOfOneTestDiffer() {
        let test = BundleMetadata.Test(framework: "XCTest", suite: "S", name: "t")
        #expect(Set((0..<100).map { _ in BundleName(test: test).description }).count == 100)
    }
}

@Suite struct FingerprintTests {
    private func fingerprint(
        _ message: String, suite: String = "S", name: String = "t", file: String? = "/a/b/T.swift",
        outcome: BundleMetadata.Outcome = .failed
    ) -> String {
        Fingerprint.make(
            test: BundleMetadata.Test(framework: "XCTest", suite: suite, name: name), outcome: outcome,
            first: BundleMetadata.Failure(
                message: message, file: file, line: 3, kind: .assertion, at: .init(seconds: 0)))
    }

    @Test(arguments: [
        ("total is 3, not 4", "total is 12, not 415"),
        ("-1 is not 0.5", "-20 is not 7.25"),
        ("no row 6F9619FF-8B86-D011-B42D-00C04FC964FF", "no row 123e4567-e89b-12d3-a456-426614174000"),
        ("at 0x7fff5fbff8c0", "at 0xdeadbeef"),
        ("hash 9e107d9d372bb6826bd81d3542a419d6", "hash e4d909c290d0fb1ca068ffaddf22cbd0"),
        ("no file '/tmp/x1/a.sqlite' here", "no file '/var/folders/z z'"),
        ("(/tmp/a) failed", "(/private/b/c) failed"),
    ])
    func oneFailureIsRecognised(first: String, second: String) {
        if second.hasSuffix("z z'") {
            // A path with a space ends at the space. The failures then differ, which is the safe result.
            #expect(fingerprint(first) != fingerprint(second))
        } else {
            #expect(fingerprint(first) == fingerprint(second))
        }
    }

    @Test func theCheckoutDoesNotMatterTheRestDoes() {
        let one = fingerprint("m")
        #expect(one == fingerprint("m", file: "/home/ci/build/T.swift"))
        #expect(one.count == 16 && one.allSatisfy(\.isHexDigit))
        let others = [
            fingerprint("n"), fingerprint("m", suite: "S2"), fingerprint("m", name: "t2"),
            fingerprint("m", file: "/a/b/U.swift"), fingerprint("m", file: nil),
            fingerprint("m", outcome: .crashed),
        ]
        #expect(Set(others + [one]).count == 7)
    }

    @Test func theHashIsStable() {
        // If this value changed, failures of earlier runs could no longer be recognised.
        #expect(fingerprint("total is 3") == "f253b7a829ff5bdc")
    }
}

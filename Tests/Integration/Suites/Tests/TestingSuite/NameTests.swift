import FailureArtifactsTesting
import Testing

@Test func freeFunction() { Issue.record("a free function") }

@Suite(.failureArtifacts) enum OuterTests {
    struct InnerTests {
        @Test func nested() { Issue.record("nested") }
    }

    /// The trait is applied three times.
    @Suite(.failureArtifacts) struct AgainTests {
        @Test(.failureArtifacts) func again() throws {
            let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
            Issue.record("again")
            store.close()
        }
    }

    @Suite("A suite with a name") struct NamedTests {
        @Test("A test with a name") func named() { Issue.record("named") }
    }

    @Test static func ofTheType() { Issue.record("of the type") }

    @Test static func `a raw identifier: "quoted"/slash`() { Issue.record("raw") }

    @Test static func CoreData内の果物を更新できる() { Issue.record("果物") }

    @Test
    static func
        aNameSoLongThatTheFileSystemWouldNotTakeItWereItNotCutBeforeItBecomesPartOfTheNameOfABundleWhichHasToStayWithinTwoHundredBytesOfUTF8IncludingItsEnd()
    {
        Issue.record("long")
    }
}

extension OuterTests {
    struct ExtensionTests {
        @Test func inAnExtension() { Issue.record("in an extension") }
    }
}

@Suite actor ActorTests {
    private var store: Connection?

    /// `fruit`: apple.
    @Test func isolated() throws {
        store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        Issue.record("in an actor")
        try store?.add("pear")
    }
}

/// The instance's properties are gone when the error reaches the trait.
@Suite final class ClassTests {
    private let file: Connection
    private let memory: Connection

    init() throws {
        file = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        memory = try Connection(":memory:", fruit: "pear")
    }

    deinit {
        file.close()
        memory.close()
    }

    /// `fruit`: apple, and in memory: pear.
    @Test func throwsAnError() throws { throw Rotten() }
}

/// The initializer throws, so the test never runs.
@Suite struct InitialiserTests {
    init() throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        defer { store.close() }
        throw Rotten()
    }

    /// `fruit`: apple.
    @Test func neverRuns() { Issue.record("it ran") }
}

enum Fruits: String, CaseIterable, Sendable {
    case apple, pear
}

struct Basket: Sendable, CustomTestStringConvertible {
    let count: Int
    var testDescription: String { "a basket of \(count)" }
}

/// Test cases, each with its own bundle.
@Suite struct ArgumentTests {
    /// `fruit`: the argument; kiwi passes.
    @Test(arguments: ["apple", "pear", "kiwi"]) func one(fruit: String) throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: fruit)
        #expect(fruit == "kiwi")
        store.close()
    }

    @Test(arguments: zip([Fruits.apple, .pear], [Basket(count: 1), Basket(count: 2)]))
    func two(_ fruit: Fruits, in basket: Basket) { #expect(basket.count == 0) }

    /// The first attempts fail.
    @Test func passesInTheEnd() {
        #expect(Attempts.next() > 2)
    }
}

/// Counts the repetitions in a process.
private enum Attempts {
    nonisolated(unsafe) private static var count = 0
    static func next() -> Int {
        count += 1
        return count
    }
}

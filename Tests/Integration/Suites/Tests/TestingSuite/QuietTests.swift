import FailureArtifacts
import Foundation
import Testing

/// Tests without a failure leave no bundle.
@Suite struct QuietTests {
    private let store: Connection

    init() throws {
        store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
    }

    @Test func passes() throws { try store.add("pear") }

    @Test func knownIssue() {
        withKnownIssue { Issue.record("known") }
    }

    @Test func knownError() {
        withKnownIssue { throw Rotten() }
    }

    @Test func warning() { Issue.record("only a warning", severity: .warning) }

    @Test func cancelled() throws { try Test.cancel("not today") }

    @Test(arguments: [1, 2]) func cancelledCase(_ number: Int) throws { try Test.cancel("not today") }

    @Test func cancelledWhileAChildWaits() async throws {
        async let child: Void = Task.sleep(for: .seconds(600))
        _ = try? Test.cancel("not today")
        try await child
    }

    @Test(.disabled("not today")) func disabled() { Issue.record("disabled") }

    /// The run fails, but not this test: the issue isn't attributed to a test.
    @Test func detachedTask() async {
        _ = await Task.detached { Issue.record("in a detached task") }.value
    }

    /// The same, on a thread.
    @Test func thread() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                Issue.record("on a thread")
                continuation.resume()
            }
        }
    }
}

/// A suite without the trait.
struct PlainTests {
    @Test func fails() throws {
        let store = try Connection(try freshPath("fruit.sqlite"), fruit: "apple")
        Issue.record("without the trait")
        store.close()
    }
}

/// Tasks that continue after the end of their test.
@Suite(.serialized) struct LateTests {
    private static let ended = AsyncStream.makeStream(of: Void.self)
    private static let recorded = AsyncStream.makeStream(of: Void.self)

    /// Starts the tasks, and fails.
    @Test func aStarts() throws {
        let store = try Connection(try freshPath("late.sqlite"), fruit: "apple")
        Task {
            for await _ in Self.ended.stream { break }
            Issue.record("in a task after the end")
            #expect(throws: Never.self) { try store.add("pear") }
            let another = try Connection(try freshPath("after.sqlite"), fruit: "kiwi")
            _ = await Task.detached { Issue.record("in a detached task after the end") }.value
            another.close()
            store.close()
            Self.recorded.continuation.yield()
        }
        Issue.record("before the end")
    }

    /// Lets the tasks continue, and passes.
    @Test func bWaits() async {
        Self.ended.continuation.yield()
        for await _ in Self.recorded.stream { break }
    }
}

import FailureArtifactsTesting
import Foundation
import Testing

/// Two tests at once, each with a store of its own and one that they share; then the process dies.
@Suite(.failureArtifacts) struct CrashTests {
    private static let ready = Gate()

    /// Opened by no test.
    private static let shared = Task.detached {
        try Connection(try freshPath("shared.sqlite"), fruit: "banana")
    }

    @Test func first() async throws {
        _ = try await Self.shared.value
        let store = try Connection(try freshPath("first.sqlite"), fruit: "apple")
        await Self.ready.arrive()
        try store.add("never")
    }

    @Test func second() async throws {
        _ = try await Self.shared.value
        let store = try Connection(try freshPath("second.sqlite"), fruit: "pear")
        await Self.ready.arrive()
        try store.add("never")
    }

    /// Nobody passes; who arrives second ends the process.
    private actor Gate {
        private var count = 0

        func arrive() async {
            count += 1
            if count == 2 { kill(getpid(), SIGKILL) }
            while true { try? await Task.sleep(for: .seconds(60)) }
        }
    }
}

import Foundation
import Testing

/// Two simultaneous tests, each with its own store and a shared one.
///
/// Then the process dies.
@Suite struct CrashTests {
    private static let ready = Gate()

    /// Opened outside of every test.
    private static let shared = Task.detached {
        try Connection(try freshPath("shared.sqlite"), fruit: "banana")
    }

    @Test func first() async throws {
        _ = try await Self.shared.value
        let store = try Connection(try freshPath("first.sqlite"), fruit: "apple")
        if await Self.ready.arrive() { fatalError("the second arrival") }
        try store.add("never")
    }

    @Test func second() async throws {
        _ = try await Self.shared.value
        let store = try Connection(try freshPath("second.sqlite"), fruit: "pear")
        if await Self.ready.arrive() { fatalError("the second arrival") }
        try store.add("never")
    }

    /// A gate that never opens. The second arrival ends the process, or returns true if SUITE_TRAPS is set.
    private actor Gate {
        private var count = 0

        func arrive() async -> Bool {
            count += 1
            if count == 2 {
                if ProcessInfo.processInfo.environment["SUITE_TRAPS"] != nil { return true }
                kill(getpid(), SIGKILL)
            }
            while true { try? await Task.sleep(for: .seconds(60)) }
        }
    }
}

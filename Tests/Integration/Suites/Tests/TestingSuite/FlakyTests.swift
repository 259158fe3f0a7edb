import Foundation
import GRDB
import Testing

/// True if tasks, tests and the elements of a set come in another order, which a variable decides here.
private let isUnlucky = ProcessInfo.processInfo.environment["SUITE_KILOS"] == "3"

private let meeting = Meeting(of: 2)

/// Tests of which the same code passes or fails.
@Suite struct FlakyTests {
    private static let path = Result { try freshPath("shared.sqlite") }

    /// `shared`: empty if ``cleaner()`` has come first; otherwise apple, pear, plum.
    @Test func reader() async throws {
        let queue = try DatabaseQueue(path: Self.path.get())
        try queue.plant("apple", "pear", "plum")
        await meeting.arrive()
        await meeting.arrive()
        let names = try await queue.read { try String.fetchAll($0, sql: "SELECT name FROM fruit") }
        #expect(names.count == 3)
        await meeting.arrive()
    }

    /// `shared`: empty; it passes.
    @Test func cleaner() async throws {
        await meeting.arrive()
        if isUnlucky { try clean() }
        await meeting.arrive()
        await meeting.arrive()
        if !isUnlucky { try clean() }
    }

    private func clean() throws {
        try DatabaseQueue(path: Self.path.get()).write { try $0.execute(sql: "DELETE FROM fruit") }
    }

    /// `unordered`: pear, plum, apple; or with apple as the first.
    @Test func unordered() throws {
        let queue = try DatabaseQueue(path: try freshPath("unordered.sqlite"))
        if !isUnlucky {
            try queue.plant("apple", "pear", "plum")
        } else {
            try queue.plant("pear", "plum", "apple")
        }
        let first = try queue.read { try String.fetchOne($0, sql: "SELECT name FROM fruit LIMIT 1") }
        #expect(first == "apple")
    }
}

import Foundation
import GRDB

/// Typing indicators.
final class Presence {
    private let messenger: Messenger

    init(_ messenger: Messenger) {
        self.messenger = messenger
    }

    func startTyping(_ person: Int64, in conversation: Int64, at date: Date) throws {
        try messenger.pool.write { db in
            try db.execute(
                sql: "INSERT INTO typing VALUES (?, ?, ?)", arguments: [conversation, person, date])
        }
    }

    func stopTyping(_ person: Int64, in conversation: Int64) throws {
        try messenger.pool.write { db in
            try db.execute(
                sql: "DELETE FROM typing WHERE conversationID = ? AND personID = ?",
                arguments: [conversation, person])
        }
    }

    /// Reports the number of people who are typing, now and after each change.
    func observe(_ conversation: Int64, onChange: @escaping @Sendable (Int) -> Void) {
        let observation = ValueObservation.tracking { db in
            try Int.fetchOne(
                db, sql: "SELECT count(*) FROM typing WHERE conversationID = ?",
                arguments: [conversation]) ?? 0
        }
        _ = observation.start(
            in: messenger.pool, scheduling: .async(onQueue: .main), onError: { _ in },
            onChange: onChange)
    }
}

import Foundation
import GRDB

/// A message as the server sends it.
struct RemoteMessage {
    var externalID: String
    var conversationID: Int64
    var senderID: Int64
    var body: String
    var sentAt: Date
}

extension Messenger {
    /// Stores one message that arrived as a push notification.
    func receivePush(_ remote: RemoteMessage) throws {
        try pool.write { db in
            var message = Message(remote)
            try message.insert(db, onConflict: .ignore)
        }
    }

    /// Stores the messages that arrived while the device was offline.
    ///
    /// - Returns: False if they have to be requested again.
    @discardableResult
    func receiveBacklog(_ backlog: [RemoteMessage]) -> Bool {
        do {
            try pool.write { db in
                for remote in backlog {
                    var message = Message(remote)
                    try message.insert(db)  // Culprit: testBacklogIsComplete
                }
            }
            return true
        } catch {
            return false
        }
    }

    /// Adds the people of an address book.
    func importPeople(
        _ people: [(handle: String, name: String)], progress: (Int) -> Void
    ) throws {
        try pool.write { db in  // Culprit: testAcknowledgementDuringImport
            for (index, person) in people.enumerated() {
                try db.execute(  // Culprit: testAcknowledgementDuringImport
                    sql: """
                        INSERT INTO person (handle, name) VALUES (?, ?)
                        ON CONFLICT (handle) DO UPDATE SET name = excluded.name
                        """, arguments: [person.handle, person.name])
                progress(index + 1)
            }
        }
    }
}

extension Message {
    init(_ remote: RemoteMessage) {
        self.init(
            conversationID: remote.conversationID, senderID: remote.senderID, body: remote.body,
            sentAt: remote.sentAt, state: "received", externalID: remote.externalID)
    }
}

/// Stores an exported archive in batches.
///
/// The messenger's configuration has to allow transactions across several accesses.
final class ArchiveImport {
    private let messenger: Messenger
    private let batchSize: Int
    private var pending = 0

    init(into messenger: Messenger, batchSize: Int = 10) {
        self.messenger = messenger
        self.batchSize = batchSize
    }

    func add(_ remote: RemoteMessage) throws {
        try messenger.pool.writeWithoutTransaction { db in
            if pending == 0 {
                try db.beginTransaction()  // Culprit: testArchiveIsImported
            }
            var message = Message(remote)
            try message.insert(db)  // Culprit: testArchiveIsImported
            pending += 1
            if pending == batchSize {
                try db.commit()
                pending = 0
            }
        }
    }
}

/// The extension that handles notifications in a process of its own.
struct NotificationExtension {
    let messenger: Messenger

    /// Confirms that the device received a message.
    func acknowledge(_ message: Int64) -> Bool {
        do {
            try messenger.pool.write { db in
                try db.execute(
                    sql: "UPDATE message SET state = 'delivered' WHERE id = ?", arguments: [message])
            }
            return true
        } catch {
            return false
        }
    }
}

import Foundation
import GRDB

/// The conversations of one account, in a store that the app shares with its extensions.
final class Messenger: Sendable {
    let pool: any DatabaseWriter

    init(_ pool: any DatabaseWriter) throws {
        self.pool = pool
        try Self.migrator.migrate(pool)
    }

    @discardableResult
    func addPerson(_ handle: String, name: String, avatarURL: String? = nil) throws -> Int64 {
        try pool.write { db in
            var person = Person(handle: handle, name: name, avatarURL: avatarURL)
            try person.insert(db)
            return db.lastInsertedRowID
        }
    }

    @discardableResult
    func startConversation(_ title: String, with people: [Int64]) throws -> Int64 {
        try pool.write { db in
            var conversation = Conversation(title: title)
            try conversation.insert(db)
            let id = db.lastInsertedRowID
            for person in people {
                try Participant(conversationID: id, personID: person).insert(db)
            }
            return id
        }
    }

    @discardableResult
    func post(
        _ body: String, by sender: Int64, in conversation: Int64, at date: Date, replyTo: Int64? = nil
    ) throws -> Int64 {
        try pool.write { db in
            var message = Message(
                conversationID: conversation, senderID: sender, body: body, sentAt: date,
                replyToID: replyTo)
            try message.insert(db)
            try db.execute(
                sql: """
                    UPDATE conversation SET messageCount = messageCount + 1, lastMessageID = ?
                    WHERE id = ?
                    """, arguments: [message.id, conversation])
            return db.lastInsertedRowID
        }
    }

    func attach(_ fileName: String, byteCount: Int, to message: Int64) throws {
        try pool.write { db in
            try Attachment(messageID: message, fileName: fileName, byteCount: byteCount).insert(db)
        }
    }

    func registerDevice(_ name: String, of person: Int64, pushToken: String? = nil) throws {
        let device = Device(personID: person, name: name, pushToken: pushToken)
        try pool.write { try device.insert($0) }
    }

    func saveDraft(_ body: String, by person: Int64, in conversation: Int64) throws {
        let draft = Draft(conversationID: conversation, personID: person, body: body)
        try pool.write { try draft.upsert($0) }
    }

    func discardDraft(by person: Int64, in conversation: Int64) throws {
        _ = try pool.write { db in
            try Draft.deleteOne(db, key: ["conversationID": conversation, "personID": person])
        }
    }

    func markRead(_ conversation: Int64, by person: Int64, upTo message: Int64) throws {
        try pool.write { db in
            try db.execute(
                sql: """
                    UPDATE participant SET lastReadID = ?
                    WHERE conversationID = ? AND personID = ? AND coalesce(lastReadID, 0) < ?
                    """,
                arguments: [message, conversation, person, message])
        }
    }

    func markSent(_ message: Int64, externalID: String) throws {
        try pool.write { db in
            try db.execute(
                sql: "UPDATE message SET state = 'sent', externalID = ? WHERE id = ?",
                arguments: [externalID, message])
        }
    }

    /// Confirms that the server delivered the messages of a conversation to every device.
    func markDelivered(in conversation: Int64) throws {
        try pool.write { db in
            let sent = Message.filter(
                Column("conversationID") == conversation && Column("state") == "sent")
            guard try sent.fetchCount(db) > 0 else { return }
            let delivered = Column("state").set(to: "delivered")
            try Message.updateAll(db, delivered)  // Culprit: testUnsentMessagesStayQueued
        }
    }

    /// Sets the avatar of a person whom a message mentions.
    func setAvatar(_ url: String, of mention: String) throws {
        try pool.write { db in
            let person = Person.filter(Column("handle") == mention)
            try person.updateAll(db, Column("avatarURL").set(to: url))  // Culprit: testAvatarIsReplaced
        }
    }

    func leave(_ conversation: Int64, _ person: Int64) throws {
        try pool.write { db in
            let key = ["conversationID": conversation, "personID": person]
            try Participant.deleteOne(db, key: key)  // Culprit: testDraftsSurviveLeavingAConversation
        }
    }

    /// Deletes a message for everyone.
    func deleteMessage(_ id: Int64) throws {
        try pool.write { db in
            guard let message = try Message.fetchOne(db, key: id) else { return }
            try Message.deleteOne(db, key: id)  // Culprit: testPreviewAfterDeletingTheLastMessage
            try db.execute(
                sql: "UPDATE conversation SET messageCount = messageCount - 1 WHERE id = ?",
                arguments: [message.conversationID])
        }
    }

    /// Adds a like after the server has accepted it.
    func like(_ id: Int64, through server: any Server) async throws {
        let message = try await pool.read { try Message.find($0, id: id) }
        guard try await server.like(message.externalID) else { return }
        try await pool.write { db in
            try db.execute(  // Culprit: testLikesOfTwoDevices
                sql: "UPDATE message SET likes = ? WHERE id = ?", arguments: [message.likes + 1, id])
        }
    }
}

enum UploadError: Error, Equatable {
    case refused(status: Int)
}

/// The network interface.
protocol Server: Sendable {
    func like(_ externalID: String?) async throws -> Bool
    func upload(_ body: String) async throws -> String
}

extension Messenger {
    func preview(of conversation: Int64) throws -> String? {
        try pool.read { db in
            try String.fetchOne(
                db,
                sql: """
                    SELECT message.body FROM conversation
                    JOIN message ON message.id = conversation.lastMessageID
                    WHERE conversation.id = ?
                    """, arguments: [conversation])
        }
    }

    func unsentMessages() throws -> [Message] {
        let queued = Message.filter(Column("state") == "queued")
        return try pool.read { try queued.order(Column("id")).fetchAll($0) }
    }

    func messages(in conversation: Int64) throws -> [Message] {
        try pool.read { db in
            try Message.filter(Column("conversationID") == conversation)
                .order(Column("sentAt"), Column("id")).fetchAll(db)
        }
    }

    func person(_ id: Int64) throws -> Person {
        try pool.read { try Person.find($0, id: id) }
    }

    func drafts(of person: Int64) throws -> [String] {
        let drafts = Draft.filter(Column("personID") == person).order(Column("conversationID"))
        return try pool.read { try drafts.fetchAll($0).map(\.body) }
    }

    func conversation(_ id: Int64) throws -> Conversation {
        try pool.read { try Conversation.find($0, id: id) }
    }

    func participants(of conversation: Int64) throws -> [Person] {
        try pool.read { db in
            try Person.fetchAll(
                db,
                sql: """
                    SELECT person.* FROM participant JOIN person ON person.id = participant.personID
                    WHERE participant.conversationID = ? ORDER BY person.id
                    """, arguments: [conversation])
        }
    }

    /// Returns the number of messages that a cleanup would delete, without deleting them.
    func sizeOfCleanup(before date: Date) throws -> Int {
        var count = 0
        try pool.writeWithoutTransaction { db in
            try db.inTransaction {
                try db.execute(sql: "DELETE FROM message WHERE sentAt < ?", arguments: [date])
                count = db.changesCount
                return .rollback
            }
        }
        return count
    }

    /// Uploads the queued messages, oldest first.
    func flush(through server: any Server) async throws {
        for message in try unsentMessages() {
            guard let id = message.id else { continue }
            let externalID = try await server.upload(message.body)
            try markSent(id, externalID: externalID)
        }
    }
}

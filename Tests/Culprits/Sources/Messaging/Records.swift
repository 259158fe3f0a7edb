import Foundation
import GRDB

struct Person: Codable, FetchableRecord, MutablePersistableRecord, Identifiable, Sendable {
    var id: Int64?
    var handle: String
    var name: String
    var avatarURL: String?

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

struct Conversation: Codable, FetchableRecord, MutablePersistableRecord, Identifiable, Sendable {
    var id: Int64?
    var title: String
    var isPinned = false
    var isMuted = false
    var messageCount = 0
    var lastMessageID: Int64?

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

struct Participant: Codable, FetchableRecord, PersistableRecord, Sendable {
    var conversationID: Int64
    var personID: Int64
    var lastReadID: Int64?
}

struct Message: Codable, FetchableRecord, MutablePersistableRecord, Identifiable, Sendable {
    var id: Int64?
    var conversationID: Int64
    var senderID: Int64
    var body: String
    var sentAt: Date
    var state = "queued"
    var likes = 0
    /// The identifier that the server gave.
    var externalID: String?
    var replyToID: Int64?

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

struct Attachment: Codable, FetchableRecord, PersistableRecord, Sendable {
    var id: Int64?
    var messageID: Int64
    var fileName: String
    var byteCount: Int
}

struct Draft: Codable, FetchableRecord, PersistableRecord, Sendable {
    var conversationID: Int64
    var personID: Int64
    var body: String
}

struct Device: Codable, FetchableRecord, PersistableRecord, Sendable {
    var id: Int64?
    var personID: Int64
    var name: String
    var pushToken: String?
}
